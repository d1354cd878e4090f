// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

import (
	"bytes"
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory/memory"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/tool/tooltest"
	"tagbus/internal/testkit"
	"tagbus/internal/testkit/memnet"
	"tagbus/recording"
	"tagbus/tags"
)

// epoch is when recordings of these tests begin.
var epoch = time.Date(2026, 11, 24, 9, 30, 0, 0, time.UTC)

// sample is a message in a form that can be compared, with its time since some beginning.
type sample struct {
	at     time.Duration
	tag    tags.Tag
	status bus.Status
	data   string
}

var (
	alice = &bus.Peer{Instance: "AAAAAAAAAAAAAAAAAAAAAA", Name: "alice"}
	bob   = &bus.Peer{Instance: "BBBBBBBBBBBBBBBBBBBBBB", Name: "bob"}
)

// writer writes a recording.
type writer struct {
	t        testing.TB
	file     *os.File
	w        *recording.Writer
	counters map[tags.Tag]uint64
}

// create begins a recording in a folder of the test.
func create(tb testing.TB, name string, cfg recording.Config) *writer {
	tb.Helper()
	file, err := os.Create(filepath.Join(tb.TempDir(), name))
	testkit.Must(tb, err)
	w := &writer{t: tb, file: file, counters: make(map[tags.Tag]uint64)}
	if w.w, err = recording.NewWriter(file, recording.Header{}, cfg); err != nil {
		tb.Fatal(err)
	}
	return w
}

// add appends messages of a publisher.
func (w *writer) add(from *bus.Peer, samples ...sample) *writer {
	w.t.Helper()
	for _, s := range samples {
		w.counters[s.tag]++
		m := bus.Message{Tag: s.tag, Status: s.status, Counter: w.counters[s.tag], Publisher: from, Data: []byte(s.data)}
		testkit.Must(w.t, w.w.Append(epoch.Add(s.at), &m))
	}
	return w
}

// rotate goes on in another file, beside the first.
func (w *writer) rotate(name string) {
	w.t.Helper()
	file, err := os.Create(filepath.Join(filepath.Dir(w.file.Name()), name))
	testkit.Must(w.t, err)
	testkit.Must(w.t, w.w.Rotate(file))
	testkit.Must(w.t, w.file.Close())
	w.file = file
}

// event appends an event.
func (w *writer) event(e recording.Event) *writer {
	w.t.Helper()
	testkit.Must(w.t, w.w.AppendEvent(e))
	return w
}

// close ends the recording and returns the path of its file.
func (w *writer) close() string {
	w.t.Helper()
	testkit.Must(w.t, w.w.Close())
	testkit.Must(w.t, w.file.Close())
	return w.file.Name()
}

// bed is a bus in memory with a command and a subscriber.
type bed struct {
	t          *testing.T
	run        *run
	subscriber *bus.Subscriber
	began      time.Time // of the first message
	got        []sample  // what the subscriber got; read it when the command has ended
	counters   map[tags.Tag]uint64
	stalled    bool // the subscriber takes nothing once it has subscribed
	out, err   bytes.Buffer
}

// newBed opens a bed. The command line ends with the files.
//
//   - wanted: the tags of the subscriber.
func newBed(t *testing.T, line, wanted string, files ...string) *bed {
	t.Helper()
	cmd := tooltest.MustRead[Command](t, line+" "+strings.Join(files, " "))
	set, err := tags.ParseSet(wanted)
	testkit.Must(t, err)
	network, dir := memnet.New(), memory.New()
	here, there := memnet.NewLoop(), memnet.NewLoop()
	host := netip.MustParseAddr("10.0.0.1")
	b := &bed{t: t, counters: make(map[tags.Tag]uint64)}
	b.run = newRun(cmd, &tool.Env{Flags: &tool.Flags{}, Streams: cli.Streams{Out: &b.out, Err: &b.err}})
	b.run.nap, b.run.dir = time.Sleep, dir
	b.run.open = func(cfg bus.PublisherConfig) (*bus.Publisher, error) {
		cfg.Listen = netip.AddrPortFrom(host, 0)
		tell := cfg.OnEvent
		cfg.OnEvent = func(e bus.Event) {
			if b.stalled && e.Kind == bus.Subscribed {
				network.Stall(netip.AddrPort{}, netip.AddrPortFrom(host.Next(), 0))
			}
			tell(e)
		}
		return bus.NewPublisher(network.Opener(here, memnet.Config{Host: host}), dir, cfg)
	}
	b.subscriber, err = bus.NewSubscriber(network.Opener(there, memnet.Config{Host: host.Next()}), dir, bus.SubscriberConfig{})
	testkit.Must(t, err)
	if _, err := b.subscriber.SubscribeWith(set, b.onMessage, bus.SubscriptionConfig{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.subscriber.Close(); err != nil {
			t.Error(err)
		}
		here.Close()
		there.Close()
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bed) onMessage(m bus.Message) {
	if len(b.got) == 0 {
		b.began = time.Now()
	}
	if b.counters[m.Tag]++; b.counters[m.Tag] != m.Counter {
		b.t.Errorf("message of %v: got counter %d, want %d", m.Tag, m.Counter, b.counters[m.Tag])
	}
	b.got = append(b.got, sample{time.Since(b.began), m.Tag, m.Status, string(m.Data)})
}

// play runs the command, and returns its exit code.
func (b *bed) play(ctx context.Context) int {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	return tool.Code(b.run.report(b.run.run(ctx)))
}

// clock is the time before each line of a console, and its level.
var clock = regexp.MustCompile(`(?m)^[-0-9T:.Z+]+ [A-Z]+ tagbus replay: `)

// said returns what the command has said, without the lines about itself.
func (b *bed) said() string {
	var kept []string
	for line := range strings.Lines(clock.ReplaceAllString(b.err.String(), "")) {
		if !strings.Contains(line, " publishes on ") && !strings.HasPrefix(line, "waiting for ") && !strings.HasPrefix(line, "subscribed ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}
