// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sub

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory/memory"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/tool/tooltest"
	"tagbus/internal/testkit"
	"tagbus/internal/testkit/memnet"
	"tagbus/tags"
)

// bed is a bus in memory with one publisher, and a command that looks at it. An internal
// test: only here is the subscriber one of a network in memory.
type bed struct {
	t         *testing.T
	publisher *bus.Publisher
	run       *run
	out, err  bytes.Buffer
}

// newBed opens a bed in which the publisher has the tags 5 and 6.
//
//   - out: nil for that of the bed.
func newBed(t *testing.T, line string, out io.Writer, json bool) *bed {
	t.Helper()
	network, dir := memnet.New(), memory.New()
	here, there := memnet.NewLoop(), memnet.NewLoop()
	host := netip.MustParseAddr("10.0.0.1")
	p, err := bus.NewPublisher(network.Opener(here, memnet.Config{Host: host}), dir, bus.PublisherConfig{
		Tags: tags.Of(5, 6), Listening: bus.Listening{Listen: netip.AddrPortFrom(host, 0)}, Sending: bus.Sending{CacheMessages: 3}, Common: bus.Common{Name: "pump"},
	})
	testkit.Must(t, err)
	b := &bed{t: t, publisher: p}
	if out == nil {
		out = &b.out
	}
	b.run = newRun(tooltest.MustRead[Command](t, line), &tool.Env{Flags: &tool.Flags{JSON: json}, Streams: cli.Streams{Out: out, Err: &b.err}})
	b.run.cmd.json = json
	b.run.subscriber, err = bus.NewSubscriber(network.Opener(there, memnet.Config{Host: host.Next()}), dir, bus.SubscriberConfig{Common: bus.Common{OnEvent: b.run.onEvent}})
	testkit.Must(t, err)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
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

// publish publishes texts to tag 5.
func (b *bed) publish(status bus.Status, texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		if err := b.publisher.PublishStatusContext(context.Background(), 5, status, []byte(text)); err != nil {
			b.t.Error(err)
		}
	}
	b.publisher.Flush()
}

// during runs the command while f runs, and returns its error.
func (b *bed) during(ctx context.Context, f func()) error {
	b.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- b.run.run(ctx) }()
	if err := b.publisher.WaitSubscribers(context.Background(), 1, b.run.cmd.Tags); err != nil {
		b.t.Error(err)
	}
	f()
	return <-ended
}

// clock is the time before each line of a console, and its level.
var clock = regexp.MustCompile(`(?m)^[-0-9T:.Z+]+ [A-Z]+ `)

func (b *bed) check(out, lines string, code int, err error) {
	b.t.Helper()
	if b.out.String() != out {
		b.t.Errorf("standard output: got\n%s\nwant\n%s", b.out.String(), out)
	}
	if got := clock.ReplaceAllString(b.err.String(), ""); got != lines {
		b.t.Errorf("standard error: got\n%s\nwant\n%s", got, lines)
	}
	if got := tool.Code(err); got != code {
		b.t.Errorf("got status %d (%v), want %d", got, err, code)
	}
}

func TestSub(t *testing.T) {
	const data = "0x0000000000000005 1 3 5: hello\n"
	for _, test := range []struct {
		name, line string
		json       bool
		publish    func(*bed)
		out, lines string
		code       int
	}{
		{
			"the count is reached", "5 --count 2", false,
			func(b *bed) { b.publish(3, "hello", "\x1b[2J", "more") },
			data + `0x0000000000000005 2 3 4: "\x1b[2J"` + "\n",
			"tagbus sub: saw 2 messages of 1 tag, 9 B in 0.00 ms; 0 left out; 0 lost; ended by count\n", 0,
		},
		{
			"the time is over", "5,6 --for 10s --timestamp --delta --format hex", false,
			func(b *bed) { b.publish(3, "a"); time.Sleep(1500 * time.Millisecond); b.publish(0, "b") },
			"0x0000000000000005 1 3 2000-01-01T00:00:00.000000000Z - 1: 61\n0x0000000000000005 2 0 2000-01-01T00:00:01.500000000Z +1.500000000 1: 62\n",
			"tagbus sub: saw 2 messages of 1 tag, 2 B in 10.0 s; 0 left out; 0 lost; ended by time\n", 0,
		},
		{
			"the count is not reached", "5 --for 10s --count 2 --tags-only", false,
			func(b *bed) { b.publish(3, "hello") }, "0x0000000000000005\n",
			"tagbus sub: got 1 of 2 messages (--count): ended by time\n" +
				"tagbus sub: saw 1 message of 1 tag, 5 B in 10.0 s; 0 left out; 0 lost; ended by time\n", 1,
		},
		{
			"only some statuses", "5 --for 1s --status 1-255 --format raw", false,
			func(b *bed) { b.publish(0, "no", "no"); b.publish(128, "yes") }, "yes",
			"tagbus sub: saw 1 message of 1 tag, 3 B in 1.00 s; 2 of other statuses; 0 left out; 0 lost; ended by time\n", 0,
		},
		{
			"json", "5 --count 1", true, func(b *bed) { b.publish(3, "hello") },
			`{"tag":"0x0000000000000005","counter":1,"status":3,"time":"2000-01-01T00:00:00.000000000Z","publisher":"INSTANCE","size":5,"data":"hello"}` + "\n",
			`{"program":"tagbus sub","messages":1,"bytes":5,"tags":1,"seconds":0,"other_statuses":0,"left_out":0,"left_out_here":0,"lost":0,` +
				`"lost_by":{"full":0,"memory":0,"connection":0,"ended":0,"left_out":0},"not_printed":0,"publishers":1,"vanished":0,"failed":0,"refused":0,"policy":"latest","ended":"count","exit":0}` + "\n", 0,
		},
		{
			"a policy that waits", "5 --count 1 --policy block", false, func(b *bed) { b.publish(3, "hello") }, data,
			"tagbus sub: --policy block: publishers wait for this command when it is slow, and all their other subscribers with them; --policy latest does not\n" +
				"tagbus sub: saw 1 message of 1 tag, 5 B in 0.00 ms; 0 left out; 0 lost; ended by count\n", 0,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, test.line, nil, test.json)
				err := b.during(context.Background(), func() { test.publish(b) })
				b.check(strings.Replace(test.out, "INSTANCE", b.publisher.Instance(), 1), test.lines, test.code, err)
			})
		})
	}
}

func TestSubBeginsWithWhatIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, "5 --replay 2 --count 2", nil, false)
		b.publish(0, "a", "b", "c")
		err := b.run.run(context.Background())
		b.check("0x0000000000000005 2 0 1: b\n0x0000000000000005 3 0 1: c\n",
			"tagbus sub: saw 2 messages of 1 tag, 2 B in 0.00 ms; 0 left out; 0 lost; ended by count\n", 0, err)
	})
}

// gate is an output that takes nothing until it is opened, and then what Write returns.
type gate struct {
	opened chan struct{}
	once   sync.Once
	to     *bytes.Buffer
	err    error
}

func (g *gate) open() { g.once.Do(func() { close(g.opened) }) }

func (g *gate) Write(b []byte) (int, error) {
	<-g.opened
	if g.err != nil {
		return 0, g.err
	}
	return g.to.Write(b)
}

// TestASlowOutputHarmsNothing: the publisher never waits, and what the output does not
// take is counted.
func TestASlowOutputHarmsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &gate{opened: make(chan struct{}), to: new(bytes.Buffer)}
		b := newBed(t, "5 --for 10s --tags-only", out, false)
		const published = 5000
		err := b.during(context.Background(), func() {
			for range published {
				if err := b.publisher.Publish(5, []byte("x")); err != nil { // it would be ErrNoResources
					t.Fatal(err)
				}
				b.publisher.Flush()
				synctest.Wait()
			}
			time.Sleep(9 * time.Second)
			out.open()
		})
		// The first was taken from the queue before the output stood.
		const shown = queueMessages + 1
		b.check("", "tagbus sub: saw 1,025 messages of 1 tag, 1.02 kB in 10.0 s; 3,975 left out (3,975 here, where the output is slow); 0 lost; ended by time\n", 0, err)
		if got := strings.Count(out.to.String(), "\n"); got != shown {
			t.Errorf("got %d lines, want %d", got, shown)
		}
	})
}

func TestAnOutputThatTakesNothingIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &gate{opened: make(chan struct{}), to: new(bytes.Buffer)}
		b := newBed(t, "5 --policy block", out, false)
		ctx, cancel := context.WithCancel(context.Background())
		err := b.during(ctx, func() {
			b.publish(0, "a", "b")
			synctest.Wait()
			b.publish(0, "c")
			synctest.Wait()
			cancel()
		})
		b.check("", "tagbus sub: --policy block: publishers wait for this command when it is slow, and all their other subscribers with them; --policy latest does not\n"+
			"tagbus sub: standard output has taken nothing for 1s: what waits for it is not printed\n"+
			"tagbus sub: saw 0 messages of 1 tag, 0 B in 1.00 s; 0 left out; 0 lost; 3 not printed; ended by signal\n", 1, err)
		out.open()
	})
}

func TestTheEndOfAPipeIsTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &gate{opened: make(chan struct{}), err: syscall.EPIPE}
		out.open()
		b := newBed(t, "5 --count 9", out, false)
		err := b.during(context.Background(), func() { b.publish(0, "a") })
		b.check("", "tagbus sub: saw 0 messages of 1 tag, 0 B in 0.00 ms; 0 left out; 0 lost; 1 not printed; ended by closed output\n", 0, err)
	})
}

func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, "5 --count 9 --for 1s --out-limit 9000 --out "+dir, nil, false)
		err := b.during(context.Background(), func() { b.publish(0, "first", "", "third") })
		b.check("0x0000000000000005 1 0 5: 00000001-0x0000000000000005-1\n0x0000000000000005 2 0 0: 00000002-0x0000000000000005-2\n",
			"tagbus sub: the limit of --out is reached: 8.79 KiB (--out-limit)\n"+
				"tagbus sub: saw 2 messages of 1 tag, 5 B in 0.00 ms; 0 left out; 0 lost; 1 not printed; ended by error\n", 1, err)
	})
	for name, want := range map[string]string{"00000001-0x0000000000000005-1": "first", "00000002-0x0000000000000005-2": ""} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: got %q and error %v, want %q", name, got, err, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, "5 --for 1s --out "+dir, nil, false)
		err := b.during(context.Background(), func() { b.publish(0, "again") })
		b.check("", "tagbus sub: --out: open "+dir+"/00000001-0x0000000000000005-1: file exists: give a folder that is empty\n"+
			"tagbus sub: saw 0 messages of 1 tag, 0 B in 0.00 ms; 0 left out; 0 lost; 1 not printed; ended by error\n", 1, err)
	})
}

// What was shown before a file could not be written is counted as shown.
func TestFilesBeforeOneThatFails(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "00000003-0x0000000000000005-3"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, "5 --for 1s --out "+dir, nil, false)
		err := b.during(context.Background(), func() { b.publish(0, "first", "", "third") })
		b.check("0x0000000000000005 1 0 5: 00000001-0x0000000000000005-1\n0x0000000000000005 2 0 0: 00000002-0x0000000000000005-2\n",
			"tagbus sub: --out: open "+dir+"/00000003-0x0000000000000005-3: file exists: give a folder that is empty\n"+
				"tagbus sub: saw 2 messages of 1 tag, 5 B in 0.00 ms; 0 left out; 0 lost; 1 not printed; ended by error\n", 1, err)
	})
}

func TestUsage(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"5 --for=-1s", "--for: got -1s, want a positive time"},
		{"5 --format raw --delta", "--format raw prints only the bytes of messages: leave --timestamp, --delta and --tags-only out"},
		{"5 --format raw --out d", "--out writes the bytes of messages into files: leave --format raw out"},
		{"5 --tags-only --out d", "--out prints names of files: leave --tags-only out"},
		{"5 --format none", `--format: got "none", want hex, text, json or raw`},
		{"5 --status 3-1", `--status: got "3-1", want statuses from 0 to 255 and ranges of them, for example 1-255 or 0,0x80`},
		{"5 --status 256", `--status: got "256", want statuses from 0 to 255 and ranges of them, for example 1-255 or 0,0x80`},
		{"", `expected "<tags>"`},
	} {
		if _, err := tooltest.Read[Command](test.line); err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", test.line, err, test.want)
		}
	}
}

func TestRawIsNotForATerminal(t *testing.T) {
	f, err := os.Open("/dev/ptmx")
	if err != nil {
		t.Skip("needs /dev/ptmx")
	}
	defer f.Close()
	err = tooltest.MustRead[Command](t, "5 --format raw").Run(context.Background(), &tool.Env{Flags: new(tool.Flags), Streams: cli.Streams{Out: f}})
	if usage := (*cli.UsageError)(nil); !errors.As(err, &usage) || err.Error() != "--format raw: standard output is a terminal, which obeys what is in messages: send it to a file or a pipe" {
		t.Errorf("got %v, want that raw is not for a terminal", err)
	}
}

func TestStatuses(t *testing.T) {
	var s Statuses
	if !s.has(0) || !s.has(255) {
		t.Error("zero value: got some statuses, want all")
	}
	testkit.Must(t, s.UnmarshalText([]byte("0,0x40-0x42,255")))
	for n, want := range map[bus.Status]bool{0: true, 1: false, 63: false, 64: true, 66: true, 67: false, 255: true} {
		if s.has(n) != want {
			t.Errorf("%d: got %v, want %v", n, s.has(n), want)
		}
	}
}

func TestDeltasOfManyTagsAreBounded(t *testing.T) {
	l, now := newLast(), time.Now()
	for tag := range tags.Tag(maxTags + 1) {
		if got := l.since(tag, now); got >= 0 {
			t.Fatalf("tag %v: got %v, want that it is not known", tag, got)
		}
	}
	if got := l.since(maxTags, now.Add(time.Second)); got != time.Second || len(l.at) != 1 {
		t.Errorf("got %v and %d tags, want 1s and those since the table was full", got, len(l.at))
	}
}

// A folder that takes messages one by one, slowly, was said to be a standard output that takes nothing.
func TestAFileIsProgress(t *testing.T) {
	s, err := newShower(tooltest.MustRead[Command](t, "5 --out "+filepath.Join(t.TempDir(), "files")), io.Discard)
	testkit.Must(t, err)
	if _, err := s.file(bus.Message{Tag: 5, Counter: 1}, []byte("x")); err != nil || s.progress.Load() == 0 {
		t.Errorf("got progress %d (%v), want some", s.progress.Load(), err)
	}
}
