// SPDX-License-Identifier: Apache-2.0

package rates

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/testkit"
	"tagbus/tags"
)

// folder is a directory with entries.
type folder struct {
	directory.Directory
	entries []directory.Entry
	away    func() bool // nil: never
	problem error
}

var errAway = errors.New("directory: away")

func (f *folder) List() ([]directory.Entry, error) {
	if f.away != nil && f.away() {
		return nil, errAway
	}
	return f.entries, f.problem
}

// steady are instances that publish 0x100 with so many messages of 1,000 bytes a second, and
// 0x101 ten times as often from the third second on.
type steady map[string]uint64

var began = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when a bubble begins

func (s steady) Ask(_ context.Context, e directory.Entry, q state.Question) (state.State, error) {
	rate, ok := s[e.Instance]
	if !ok {
		return state.State{}, errors.New("connection refused")
	}
	if rate == 0 {
		return state.State{Time: time.Now(), Instance: e.Instance}, nil
	}
	seconds := uint64(time.Since(began) / time.Second)
	answer := state.State{Time: time.Now(), Role: state.Publisher, Instance: e.Instance, Name: e.Name}
	add := func(tag tags.Tag, n uint64) {
		if q.Tags.Contains(tag) && n > 0 {
			answer.Asked = append(answer.Asked, state.Tag{Tag: tag, Messages: n, PayloadBytes: 1000 * n, Peers: 1})
		}
	}
	add(0x100, 5+rate*seconds)
	add(0x101, 10*rate*max(0, seconds-min(seconds, 2)))
	return answer, nil
}

// wrote returns what a command writes.
func wrote(t *testing.T, f Flags, bytes, asJSON bool, asker overview.Asker) (out, notes string) {
	t.Helper()
	set, err := tags.ParseSet("0x100-0x101")
	testkit.Must(t, err)
	f.Tags, f.Window = set, max(f.Window, time.Second)
	testkit.Must(t, f.Check())
	d := &folder{entries: []directory.Entry{
		{Instance: "A1", Name: "felix-07", Tags: set}, {Instance: "B2", Tags: set}, {Instance: "C3", Tags: tags.Of(5)},
	}}
	return written(t, func(e *tool.Env) error {
		r := &run{Flags: &f, env: e, watcher: overview.New(d, asker), out: newPrinter(e, false, bytes, f.Head), said: make(map[string]bool)}
		return r.windows(t.Context(), r.counted)
	}, asJSON)
}

func written(t *testing.T, run func(*tool.Env) error, asJSON bool) (out, notes string) {
	t.Helper()
	var o, n bytes.Buffer
	e := &tool.Env{Flags: &tool.Flags{Bus: "/run/bus", Timeout: time.Second, JSON: asJSON}, Streams: cli.Streams{Out: &o, Err: &n}}
	testkit.Must(t, run(e))
	return o.String(), n.String()
}

// TestADirectoryThatIsAwayForAWhileEndsNoRates: it is noted. One that is away from the beginning ends the command.
func TestADirectoryThatIsAwayForAWhileEndsNoRates(t *testing.T) {
	for _, test := range []struct {
		name     string
		from, to time.Duration
		ends     bool
		status   int
	}{
		{"in the middle", 2500 * time.Millisecond, 4500 * time.Millisecond, false, cli.ExitDone},
		{"from the beginning", 0, time.Second, true, cli.ExitFailed},
		{"in the last window", 5500 * time.Millisecond, time.Minute, false, cli.ExitFailed},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			d := &folder{
				entries: []directory.Entry{{Instance: "A1", Name: "felix-07", Tags: tags.Of(0x100)}},
				away:    func() bool { at := time.Since(begun); return at >= test.from && at < test.to },
			}
			var o, n bytes.Buffer
			e := &tool.Env{Flags: &tool.Flags{Bus: "/run/bus", Timeout: time.Second}, Streams: cli.Streams{Out: &o, Err: &n}}
			f := &Flags{Tags: tags.Of(0x100), Window: time.Second, Count: 6}
			r := &run{Flags: f, env: e, watcher: overview.New(d, steady{"A1": 1000}), out: newPrinter(e, false, false, 0), said: make(map[string]bool)}
			err := r.count(t.Context())
			if errors.Is(err, errAway) != test.ends || tool.Code(err) != test.status || !test.ends && !strings.Contains(n.String(), errAway.Error()) {
				t.Errorf("%s: got %v, notes %q and\n%s\nwant an end: %v, with status %d", test.name, err, n.String(), o.String(), test.ends, test.status)
			}
			if last := strings.Contains(o.String(), "00:00:06"); last != (test.status == cli.ExitDone) {
				t.Errorf("%s: got the last window: %v", test.name, last)
			}
		})
	}
}

// TestRatesLackWhatTheDirectoryHides: half of the rate of a bus was shown, without a word.
func TestRatesLackWhatTheDirectoryHides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &folder{entries: []directory.Entry{{Instance: "A1", Name: "felix-07", Tags: tags.Of(0x100)}}, problem: errors.New("the entry of X is not used")}
		var o, n bytes.Buffer
		e := &tool.Env{Flags: &tool.Flags{Bus: "/run/bus", Timeout: time.Second}, Streams: cli.Streams{Out: &o, Err: &n}}
		f := &Flags{Tags: tags.Of(0x100), Window: time.Second, Count: 2}
		r := &run{Flags: f, env: e, watcher: overview.New(d, steady{"A1": 1000}), out: newPrinter(e, false, false, 0), said: make(map[string]bool)}
		if err := r.count(t.Context()); tool.Code(err) != 1 || strings.Count(n.String(), "the directory is not read whole: the entry of X is not used") != 1 {
			t.Errorf("got %v and notes %q, want the problem once, and status 1", err, n.String())
		}
	})
}

func TestRatesAreThoseOfTheCounters(t *testing.T) {
	both, silent := steady{"A1": 1000, "B2": 3}, steady{"A1": 0}
	const refused = "B2 could not be asked: connection refused\n"
	tests := []struct {
		name          string
		flags         Flags
		bytes, asJSON bool
		asker         steady
		out, notes    string
	}{
		{"messages", Flags{Count: 2}, false, false, both, `
TIME      TAG                 NAME      MSG/S  MESSAGES    BYTES  SUBS
00:00:01  0x0000000000000100  B2         3.00         8  8.00 kB     1
00:00:01  0x0000000000000100  felix-07  1,000     1,005  1.00 MB     1
00:00:02  0x0000000000000100  B2         3.00        11  11.0 kB     1
00:00:02  0x0000000000000100  felix-07  1,000     2,005  2.00 MB     1
`, ""},
		{"bytes, over two seconds, of one that answers", Flags{Count: 2, Window: 2 * time.Second}, true, false, steady{"A1": 1000}, `
TIME      TAG                 NAME      MB/S     MEAN  MESSAGES    BYTES  SUBS
00:00:02  0x0000000000000100  felix-07  1.00  1.00 kB     2,005  2.00 MB     1
00:00:04  0x0000000000000100  felix-07  1.00  1.00 kB     4,005  4.00 MB     1
00:00:04  0x0000000000000101  felix-07  10.0  1.00 kB    20,000  20.0 MB     1
`, refused},
		{"the busiest", Flags{Count: 1, Head: 1, Window: 4 * time.Second}, false, false, both, `
TIME      TAG                 NAME      MSG/S  MESSAGES    BYTES  SUBS
00:00:04  0x0000000000000101  felix-07  5,000    20,000  20.0 MB     1
`, ""},
		{"tags without messages", Flags{Count: 2}, false, false, silent, "\n", "B2 could not be asked: connection refused\nno message of these tags has been published yet\n"},
		{"JSON", Flags{Count: 1, Head: 1}, false, true, both, `
{"time":"2000-01-01T00:00:01Z","role":"publisher","instance":"A1","name":"felix-07","tag":"0x0000000000000100","messages":1005,"payload_bytes":1005000,"subscribers":1,"messages_per_second":1000,"payload_bytes_per_second":1000000}
`, ""},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			out, notes := wrote(t, test.flags, test.bytes, test.asJSON, test.asker)
			if want := strings.TrimPrefix(test.out, "\n"); lines(out) != lines(want) || notes != test.notes {
				t.Errorf("%s: got\n%s%s, want\n%s%s", test.name, out, notes, want, test.notes)
			}
		})
	}
}

// TestAWindowThatLacksIsNoSuccess: the row of a program that did not answer was left out, with
// status 0.
func TestAWindowThatLacksIsNoSuccess(t *testing.T) {
	set := tags.Of(1)
	entries := []directory.Entry{{Instance: "A1", Name: "felix-07", Tags: set}, {Instance: "B2", Name: "felix-08", Tags: set}}
	dead := []overview.Dead{
		{Entry: directory.Entry{Instance: "D1", Name: "felix-09", Tags: set}, Why: "its process has ended"},
		{Entry: directory.Entry{Instance: "D2", Name: "other", Tags: tags.Of(2)}, Why: "its process has ended"},
	}
	for _, test := range []struct {
		name    string
		entries []directory.Entry
		dead    []overview.Dead
		status  int
		says    string
	}{
		{"all answer", entries[:1], nil, 0, ""},
		{"one does not", entries, nil, 1, "felix-08 could not be asked: connection refused"},
		{"one has gone", entries[:1], dead[:1], 1, "felix-09: it has gone without a word: its process has ended"},
		{"one of other tags has gone", entries[:1], dead[1:], 0, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var err error
			_, notes := written(t, func(e *tool.Env) error {
				w := overview.New(&folder{entries: test.entries}, steady{"A1": 7})
				w.SeeLeftovers(func() overview.Leftovers { return overview.Leftovers{Dead: test.dead} })
				r := &run{Flags: &Flags{Tags: set, Window: time.Second, Count: 2}, env: e, watcher: w, out: newPrinter(e, false, false, 0), said: make(map[string]bool)}
				err = r.count(t.Context())
				return nil
			}, false)
			if tool.Code(err) != test.status || test.says != "" && strings.Count(notes, test.says) != 1 || strings.Contains(notes, "other") {
				t.Errorf("%s: got %q and %v, want %q and status %d", test.name, notes, err, test.says, test.status)
			}
		})
	}
}

// lines returns lines without the blanks that align them: columns that grow wider do so
// from one window to the next.
func lines(text string) string {
	var all []string
	for line := range strings.Lines(text) {
		all = append(all, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(all, "\n")
}

func TestAProbeMeasuresTheTimesBetweenMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, from := newProbe(tags.Of(0x100), nil), &bus.Peer{Instance: "A1", Name: "felix-07"}
		out, _ := written(t, func(e *tool.Env) error {
			printer := newPrinter(e, true, false, 0)
			come := func(counter uint64, after time.Duration) {
				time.Sleep(after)
				p.add(from, 0x100, counter, 1000, time.Now())
			}
			come(1, 0)
			if err := printer.gaps(p.window()); err != nil {
				return err
			}
			come(2, 100*time.Millisecond)
			come(3, 300*time.Millisecond)
			come(7, 500*time.Millisecond) // 4 to 6 were left out: no time between two that follow each other
			come(1, 50*time.Millisecond)  // it has begun again
			time.Sleep(50 * time.Millisecond)
			if err := printer.gaps(p.window()); err != nil {
				return err
			}
			time.Sleep(time.Second)
			return printer.gaps(p.window())
		}, false)
		want := `TIME      TAG                 NAME      MSG/S  GAP-MIN  GAP-MEAN  GAP-MAX  GAP-STD  LEFT-OUT
00:00:01  0x0000000000000100  felix-07   4.00   100 ms    200 ms   300 ms   100 ms         3
00:00:02  0x0000000000000100  felix-07   0.00        -         -        -        -         0
`
		if out != want {
			t.Errorf("got\n%s, want\n%s", out, want)
		}
	})
}

func TestFlagsThatMakeNoSenseAreNamed(t *testing.T) {
	f := Flags{Window: time.Millisecond, Count: -1, Head: -1}
	want := "the set of tags is empty\n--window: got 1ms, want at least 100ms\n--count: got -1, want 1 or more\n--head: got -1, want 1 or more"
	if err := f.Check(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
