// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/tags"
)

// figures is a summary.
type figures struct {
	Program  string         `json:"program"`
	Messages uint64         `json:"messages"`
	Seconds  float64        `json:"seconds"`
	LostBy   map[string]int `json:"lost_by"`
	Ended    string         `json:"ended"`
	Verified bool           `json:"verified"`
}

func (figures) String() string { return "7 messages" }

// talk says one record of each kind.
func talk(c *cli.Console) {
	peer := &bus.Peer{Name: "readout", Instance: "KbC6LATNok1u2ThyAEDEbA", Host: "host1", PID: 7, Addr: netip.MustParseAddrPort("10.0.0.1:80")}
	c.Say("said %d", 1)
	c.Tell(slog.LevelDebug, "detail", nil, "a detail")
	c.Tell(slog.LevelInfo, "waiting", []slog.Attr{slog.Int("count", 3)}, "still waiting")
	c.Event(bus.Event{Kind: bus.Subscribed, Peer: &bus.Peer{Instance: peer.Instance, Host: "host1"}, Tags: tags.Of(5)})
	c.Event(bus.Event{Kind: bus.Gap, Tag: 5, Count: 3, Peer: peer, Err: bus.ErrConnectionLost})
	c.Event(bus.Event{Kind: bus.Duplicate, Peer: peer, Other: &bus.Peer{Name: "old"}, Err: errors.New("two")})
	c.Logger().Warn("listen endpoint cannot accept", "addr", peer.Addr, "err", errors.New("too many open files"))
	c.Fail(errors.New("broken"))
	c.Summary(figures{"tool", 1 << 60, 0.25, map[string]int{"full": 0}, "count", true})
}

// TestFormatsOfTheLog compares whole lines.
func TestFormatsOfTheLog(t *testing.T) {
	tests := []struct {
		name string
		log  cli.Log
		want string // TIME stands for the time
	}{
		{"text", cli.Log{}, `TIME INFO tool: said 1
TIME INFO tool: still waiting
TIME INFO tool: subscribed hyAEDEbA@host1 tags 0x0000000000000005
TIME WARN tool: gap readout@host1:7 (10.0.0.1:80) 3 messages of tag 0x0000000000000005: bus: published while the connection was lost: these messages are lost
TIME WARN tool: duplicate readout@host1:7 (10.0.0.1:80) and old: two
TIME WARN tool: listen endpoint cannot accept addr=10.0.0.1:80 err="too many open files"
TIME ERROR tool: broken
TIME INFO tool: 7 messages
`},
		{"text in detail", cli.Log{LogFormat: cli.LogText, LogLevel: cli.LogLevel(slog.LevelDebug)}, `TIME INFO tool: said 1
TIME DEBUG tool: a detail
TIME INFO tool: still waiting
TIME INFO tool: subscribed hyAEDEbA@host1 tags 0x0000000000000005
TIME WARN tool: gap readout@host1:7 (10.0.0.1:80) 3 messages of tag 0x0000000000000005: bus: published while the connection was lost: these messages are lost
TIME WARN tool: duplicate readout@host1:7 (10.0.0.1:80) and old: two
TIME WARN tool: listen endpoint cannot accept addr=10.0.0.1:80 err="too many open files"
TIME ERROR tool: broken
TIME INFO tool: 7 messages
`},
		{"warnings", cli.Log{LogLevel: cli.LogLevel(slog.LevelWarn)}, `TIME WARN tool: gap readout@host1:7 (10.0.0.1:80) 3 messages of tag 0x0000000000000005: bus: published while the connection was lost: these messages are lost
TIME WARN tool: duplicate readout@host1:7 (10.0.0.1:80) and old: two
TIME WARN tool: listen endpoint cannot accept addr=10.0.0.1:80 err="too many open files"
TIME ERROR tool: broken
TIME INFO tool: 7 messages
`},
		{"quiet", cli.Log{Quiet: true, LogLevel: cli.LogLevel(slog.LevelDebug)}, "TIME ERROR tool: broken\nTIME INFO tool: 7 messages\n"},
		{"json", cli.Log{LogFormat: cli.LogJSON}, `{"time":"TIME","level":"INFO","msg":"said 1","program":"tool"}
{"time":"TIME","level":"INFO","msg":"still waiting","program":"tool","kind":"waiting","count":3}
{"time":"TIME","level":"INFO","msg":"subscribed hyAEDEbA@host1 tags 0x0000000000000005","program":"tool","kind":"subscribed","instance":"KbC6LATNok1u2ThyAEDEbA","host":"host1","tags":"0x0000000000000005"}
{"time":"TIME","level":"WARN","msg":"gap readout@host1:7 (10.0.0.1:80) 3 messages of tag 0x0000000000000005: bus: published while the connection was lost: these messages are lost","program":"tool","kind":"gap","name":"readout","instance":"KbC6LATNok1u2ThyAEDEbA","host":"host1","pid":7,"addr":"10.0.0.1:80","tag":"0x0000000000000005","count":3,"cause":"connection"}
{"time":"TIME","level":"WARN","msg":"duplicate readout@host1:7 (10.0.0.1:80) and old: two","program":"tool","kind":"duplicate","name":"readout","instance":"KbC6LATNok1u2ThyAEDEbA","host":"host1","pid":7,"addr":"10.0.0.1:80","other":{"name":"old"},"cause":"two"}
{"time":"TIME","level":"WARN","msg":"listen endpoint cannot accept","program":"tool","addr":"10.0.0.1:80","err":"too many open files"}
{"time":"TIME","level":"ERROR","msg":"broken","program":"tool","kind":"error"}
{"time":"TIME","level":"INFO","msg":"7 messages","program":"tool","kind":"summary","messages":1152921504606846976,"seconds":0.25,"lost_by":{"full":0},"ended":"count","verified":true}
`},
		{"the journal", cli.Log{LogFormat: cli.LogJournal, LogLevel: cli.LogLevel(slog.LevelDebug)}, `<6>said 1
<7>a detail kind=detail
<6>still waiting kind=waiting count=3
<6>subscribed hyAEDEbA@host1 tags 0x0000000000000005 kind=subscribed instance=KbC6LATNok1u2ThyAEDEbA host=host1 tags=0x0000000000000005
<4>gap readout@host1:7 (10.0.0.1:80) 3 messages of tag 0x0000000000000005: bus: published while the connection was lost: these messages are lost kind=gap name=readout instance=KbC6LATNok1u2ThyAEDEbA host=host1 pid=7 addr=10.0.0.1:80 tag=0x0000000000000005 count=3 cause=connection
<4>duplicate readout@host1:7 (10.0.0.1:80) and old: two kind=duplicate name=readout instance=KbC6LATNok1u2ThyAEDEbA host=host1 pid=7 addr=10.0.0.1:80 other.name=old cause=two
<4>listen endpoint cannot accept addr=10.0.0.1:80 err="too many open files"
<3>broken kind=error
<6>7 messages kind=summary messages=1152921504606846976 seconds=0.25 ended=count verified=true
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				c := cli.NewConsole("tool", &out, test.log)
				talk(c)
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				layout := "2006-01-02T15:04:05.000Z07:00"
				if test.log.LogFormat == cli.LogJSON {
					layout = time.RFC3339Nano
				}
				if want := strings.ReplaceAll(test.want, "TIME", time.Now().Format(layout)); out.String() != want {
					t.Errorf("got\n%s\nwant\n%s", out.String(), want)
				}
			})
		})
	}
}

// TestCausesOfGaps are words that programs can count by.
func TestCausesOfGaps(t *testing.T) {
	for err, want := range map[error]string{
		bus.ErrTooSlow: "full", bus.ErrPublisherMemory: "memory", bus.ErrConnectionLost: "connection",
		bus.ErrPublisherEnded: "ended", bus.ErrLeftOut: "left_out", bus.ErrQueueFull: "overflowed", errors.New("new"): "new",
	} {
		var out bytes.Buffer
		c := cli.NewConsole("tool", &out, cli.Log{LogFormat: cli.LogJSON, LogLevel: cli.LogLevel(slog.LevelDebug)})
		c.Event(bus.Event{Kind: bus.Gap, Err: err})
		c.Close()
		if got := out.String(); !strings.HasSuffix(got, `,"cause":"`+want+"\"}\n") {
			t.Errorf("%v: got %s, want it to end with the cause %s", err, got, want)
		}
	}
}

// TestLevelsOfEvents: what a person has to look at is a warning.
func TestLevelsOfEvents(t *testing.T) {
	unconfirmed := &bus.UnconfirmedError{Messages: 3}
	tests := []struct {
		event bus.Event
		want  string
	}{
		{bus.Event{Kind: bus.Connected}, "INFO tool: connected"},
		{bus.Event{Kind: bus.Gap, Count: 2, Err: bus.ErrLeftOut}, "DEBUG tool: gap 2 messages of tag 0x0000000000000000: " + bus.ErrLeftOut.Error()},
		{bus.Event{Kind: bus.Unsubscribed}, "INFO tool: unsubscribed"},
		{bus.Event{Kind: bus.Resubscribed}, "INFO tool: resubscribed"},
		{bus.Event{Kind: bus.Resumed}, "INFO tool: resumed"},
		{bus.Event{Kind: bus.Goodbye}, "INFO tool: goodbye"},
		{bus.Event{Kind: bus.Lost}, "INFO tool: left"},
		{bus.Event{Kind: bus.Lost, Err: unconfirmed}, "INFO tool: left: " + unconfirmed.Error()},
		{bus.Event{Kind: bus.Lost, Err: errors.New("cut")}, "WARN tool: lost: cut"},
		{bus.Event{Kind: bus.Refused}, "WARN tool: refused"},
		{bus.Event{Kind: bus.Stalled}, "WARN tool: stalled"},
		{bus.Event{Kind: bus.Problem}, "WARN tool: problem"},
		{bus.Event{Kind: bus.Vanished}, "WARN tool: vanished: it went without goodbye: how many of its last messages are missing is not known"},
	}
	for _, test := range tests {
		var out bytes.Buffer
		c := cli.NewConsole("tool", &out, cli.Log{LogLevel: cli.LogLevel(slog.LevelDebug)})
		c.Event(test.event)
		c.Close()
		if _, got, _ := strings.Cut(strings.TrimSuffix(out.String(), "\n"), " "); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// TestEventsOfAMinute: a command that runs for weeks goes on to say what happens.
func TestEventsOfAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		c := cli.NewConsole("tool", &out, cli.Log{})
		for range 3 {
			for range 25 {
				c.Event(bus.Event{Kind: bus.Connected})
			}
			time.Sleep(time.Minute)
		}
		c.Event(bus.Event{Kind: bus.Goodbye})
		c.Close()
		const minute = "tool: connected\n"
		const rest = "tool: 5 more connected events not shown\n"
		want := strings.Repeat(minute, 20) + rest + strings.Repeat(minute, 20) + rest + strings.Repeat(minute, 20) + "tool: goodbye\n" + rest
		if got := texts(t, out.String()); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// TestWhatIsLeftOutHidesNoLoss: a policy may leave out much.
func TestWhatIsLeftOutHidesNoLoss(t *testing.T) {
	var out bytes.Buffer
	c := cli.NewConsole("tool", &out, cli.Log{LogLevel: cli.LogLevel(slog.LevelDebug)})
	for range 25 {
		c.Event(bus.Event{Kind: bus.Gap, Count: 1, Err: bus.ErrLeftOut})
	}
	c.Event(bus.Event{Kind: bus.Gap, Count: 7})
	c.Close()
	if got, want := texts(t, out.String()), "tool: gap 7 messages of tag 0x0000000000000000: these messages are lost\ntool: 5 more left out events not shown\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant at the end\n%s", got, want)
	}
}

// TestALoggerKeepsWhatItWasGiven: names of groups, fields, and values of the moment.
func TestALoggerKeepsWhatItWasGiven(t *testing.T) {
	for format, want := range map[cli.LogFormat]string{
		cli.LogText:    "tool: slow loop=1 read.n=[1]\n",
		cli.LogJSON:    `"level":"WARN","msg":"slow","program":"tool","loop":1,"read":{"n":"[1]"}}` + "\n",
		cli.LogJournal: "<4>slow loop=1 read.n=[1]\n",
	} {
		w := &blockedWriter{released: make(chan struct{})}
		c := cli.NewConsole("tool", w, cli.Log{LogFormat: format})
		n := []int{1}
		c.Logger().With("loop", 1).WithGroup("read").Warn("slow", "n", n)
		c.Logger().Debug("unseen")
		n[0] = 2
		close(w.released)
		c.Close()
		if got := w.String(); !strings.HasSuffix(got, want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: got %q, want %q at the end", format, got, want)
		}
	}
}
