// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"tagbus/bridge/cmd/internal/commands"
	"tagbus/bridge/internal/kafkaserver"
	"tagbus/bridge/internal/natsserver"
	"tagbus/bridge/jetstream"
	"tagbus/bridge/record"
	"tagbus/bus"
	"tagbus/cmd/programs"
	"tagbus/node"
	"tagbus/recording"
	"tagbus/tags"
)

// mode is the variable that makes a program of the tests.
const mode = "TAGBUS_TEST_PROGRAM"

func TestMain(m *testing.M) {
	kafkaserver.Main()
	if os.Getenv(mode) == "bridge" {
		os.Exit(programs.Service("tagbus-bridge", commands.Description, new(commands.Commands)))
	}
	goleak.VerifyTestMain(m, // the broker in memory ends its connections a little later
		goleak.IgnoreAnyFunction("github.com/twmb/franz-go/pkg/kfake.(*clientConn).read"),
		goleak.IgnoreAnyFunction("github.com/twmb/franz-go/pkg/kfake.(*clientConn).read.func1"),
		goleak.IgnoreAnyFunction("github.com/twmb/franz-go/pkg/kfake.(*clientConn).write"))
}

// program is a running tagbus-bridge.
type program struct {
	*exec.Cmd
	out, err bytes.Buffer
}

// start starts tagbus-bridge, which the test ends.
func start(t *testing.T, args ...string) *program {
	t.Helper()
	p := &program{Cmd: exec.CommandContext(t.Context(), os.Args[0], args...)}
	p.Env = append(os.Environ(), mode+"=bridge")
	p.Stdout, p.Stderr = &p.out, &p.err
	p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must(t, p.Start())
	return p
}

// wait waits for the end, and returns the status and what --json says.
func (p *program) wait(t *testing.T) (code int, summary map[string]any) {
	t.Helper()
	err := p.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var said struct{ Summary map[string]any }
	if p.out.Len() > 0 {
		if err := json.Unmarshal(p.out.Bytes(), &said); err != nil {
			t.Errorf("got %q: %v", p.out.String(), err)
		}
	}
	return p.ProcessState.ExitCode(), said.Summary
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open opens a node on a bus.
func open(t *testing.T, dir string) *node.Node {
	t.Helper()
	n, err := node.Open(node.Config{Bus: dir, Backend: "tcp"})
	must(t, err)
	t.Cleanup(func() { _ = n.Close() })
	return n
}

// publisher opens a publisher on a bus, and returns what is closed when it has lost a subscriber: until then, what waits for
// subscribers counts one that was killed.
func publisher(t *testing.T, dir string, cfg bus.PublisherConfig) (p *bus.Publisher, lost <-chan struct{}) {
	t.Helper()
	gone, once := make(chan struct{}), sync.Once{}
	cfg.OnEvent = func(e bus.Event) {
		if e.Kind == bus.Lost {
			once.Do(func() { close(gone) })
		}
	}
	p, err := open(t, dir).NewPublisher(cfg)
	must(t, err)
	return p, gone
}

// makeStream makes the stream TAGBUS, as its owner does.
func makeStream(t *testing.T, url string) {
	t.Helper()
	conn, err := nats.Connect(url)
	must(t, err)
	defer conn.Close()
	js, err := natsjs.New(conn)
	must(t, err)
	_, err = js.CreateStream(t.Context(), natsjs.StreamConfig{Name: "TAGBUS", Subjects: []string{"tagbus.*.*"}})
	must(t, err)
}

// TestFromOneBusToAnother over a log, with a bridge that is killed: each message comes once, in its order.
func TestFromOneBusToAnother(t *testing.T) {
	server := natsserver.Start(t)
	makeStream(t, server.URL)
	here := t.TempDir()
	set := tags.Of(1, 2)
	p, lost := publisher(t, here, bus.PublisherConfig{Tags: set, Sending: bus.Sending{CacheMessages: 5000}})
	const published = 1600
	publish := counting(t, p, set)
	out := []string{"out", "--bus", here, "--backend", "tcp", "--nats", server.URL, "--stream", "TAGBUS", "--tags", "1-2", "--replay", "5000", "--json"}
	first := start(t, out...)
	must(t, p.WaitSubscribers(t.Context(), 1, set))
	publish(1000)
	must(t, first.Process.Kill())
	_, _ = first.wait(t)
	<-lost
	publish(100)
	second := start(t, out...)
	must(t, p.WaitSubscribers(t.Context(), 1, set))
	publish(500)
	awaitTails(t, server.URL, published+1) // Drain would wait for the one that was killed
	must(t, p.Close())
	must(t, second.Process.Signal(syscall.SIGTERM))
	if code, sum := second.wait(t); code != 0 || sum["lost"] != 0. {
		t.Errorf("got status %d and %v, want 0 and nothing lost; it said\n%s", code, sum, second.err.String())
	}

	file := filepath.Join(t.TempDir(), "run.tbr")
	rec := start(t, "convert", server.URL+"/TAGBUS", "--out", file, "--json")
	if code, sum := rec.wait(t); code != 0 || sum["messages"] != 2.*published || sum["lost"] != 0. {
		t.Errorf("got status %d and %v, want 0 and %d messages; it said\n%s", code, sum, 2*published, rec.err.String())
	}
	r, err := recording.Open(file)
	must(t, err)
	if report, err := recording.Verify(r); err != nil || !report.Whole() || report.Total().Messages != 2*published {
		t.Errorf("got %v, %+v, want a whole recording of %d messages", err, report, 2*published)
	}
	must(t, r.Close())
	rec = start(t, "convert", server.URL+"/TAGBUS", "--out", file+"2", "--from", "1000000")
	if code, _ := rec.wait(t); code != 1 || !strings.Contains(rec.err.String(), "has no record of the tags and the span") {
		t.Errorf("got status %d and %s, want 1 for a span that is empty", code, rec.err.String())
	}
	if _, err := os.Stat(file + "2"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want no file of a recording that failed", err)
	}

	in := start(t, "in", "--bus", t.TempDir(), "--tags", "9", "--backend", "tcp", "--nats", server.URL, "--stream", "TAGBUS", "--json")
	if code, _ := in.wait(t); code != 1 || !strings.Contains(in.err.String(), "has no record of the tags and the span") {
		t.Errorf("got status %d and %s, want 1 for tags that the log does not have", code, in.err.String())
	}

	wantIn(t, set, published, "--backend", "tcp", "--nats", server.URL, "--stream", "TAGBUS", "--json")
}

// counting returns what publishes the next numbers, from 1 on, under each of two tags.
func counting(t *testing.T, p *bus.Publisher, set tags.Set) (publish func(n int)) {
	published := uint64(0)
	return func(n int) {
		for range n {
			published++
			for tag := range set.All() {
				must(t, p.PublishContext(t.Context(), tag, binary.BigEndian.AppendUint64(nil, published)))
			}
		}
		p.Flush()
	}
}

// wantIn publishes a log on a bus of its own, fails the test unless it has the messages 1 to n of each of two tags in their order, and
// returns the summary.
func wantIn(t *testing.T, set tags.Set, n uint64, log ...string) map[string]any {
	t.Helper()
	dir := t.TempDir()
	got := receive(t, open(t, dir), set)
	in := start(t, append([]string{"in", "--bus", dir}, log...)...)
	code, sum := in.wait(t)
	if code != 0 || sum["messages"] != float64(2*n) || sum["missing"] != 0. {
		t.Errorf("got status %d and %v, want 0 and %d messages; it said\n%s", code, sum, 2*n, in.err.String())
	}
	for tag, last := range got() {
		if last != n {
			t.Errorf("tag %v: got messages 1 to %d in their order, want 1 to %d", tag, last, n)
		}
	}
	return sum
}

// awaitTails waits until the last record of both tags ends before a counter.
func awaitTails(t *testing.T, url string, next uint64) {
	t.Helper()
	log, err := jetstream.Open(t.Context(), jetstream.Config{URL: url, Stream: "TAGBUS"})
	must(t, err)
	defer func() { must(t, log.Close()) }()
	for end := time.Now().Add(time.Minute); ; {
		complete := 0
		for e, err := range log.Tails(t.Context(), tags.Of(1, 2)) {
			must(t, err)
			r, err := record.Parse(e.Data)
			must(t, err)
			if r.Next() == next {
				complete++
			}
		}
		if complete == 2 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the log has not all of both tags up to %d", next)
		}
	}
}

// receive subscribes, and returns what waits for the goodbye and returns how many messages of each tag came in
// their order.
func receive(t *testing.T, n *node.Node, set tags.Set) func() map[tags.Tag]uint64 {
	t.Helper()
	ended := make(chan struct{})
	var once sync.Once
	s, err := n.NewSubscriber(bus.SubscriberConfig{Common: bus.Common{OnEvent: func(e bus.Event) {
		if e.Kind == bus.Goodbye || e.Kind == bus.Vanished {
			once.Do(func() { close(ended) })
		}
	}}})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	got := map[tags.Tag]uint64{1: 0, 2: 0}
	_, err = s.Subscribe(set, func(m bus.Message) {
		if binary.BigEndian.Uint64(m.Data) == got[m.Tag]+1 {
			got[m.Tag]++
		}
	})
	must(t, err)
	return func() map[tags.Tag]uint64 {
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Error("the publisher does not end")
		}
		return got
	}
}

// TestBadInput ends with a status that scripts can tell, and says what is wrong.
func TestBadInput(t *testing.T) {
	server := natsserver.Start(t)
	for _, test := range []struct {
		name string
		args string
		code int
		text string
	}{
		{"no command", "--bus DIR", 2, "out"},
		{"no stream", "out --bus DIR --tags 1 --nats " + server.URL, 2, "--stream"},
		{"a subject without tags", "out --bus DIR --tags 1 --stream S --subject a.b --nats " + server.URL, 2, "{tag}"},
		{"a start that is none", "in --bus DIR --stream S --from yesterday --nats " + server.URL, 2, "got \"yesterday\""},
		{"too little memory", "out --bus DIR --tags 1 --stream S --held-bytes 1KiB --record-bytes 1 --absence 1ns --nats " + server.URL, 2, "tagbus-bridge: out: --held-bytes is 1024, want 1048576 to 1099511627776; --record-bytes is 1, want 1024 to 1073741824; --absence is 1ns"},
		{"a replay of less than nothing", "out --bus DIR --tags 1 --stream S --nats nats://x --replay=-1", 2, "--replay"},
		{"a name that no stream can have", "in --bus DIR --stream a.b --speed 1e9 --nats nats://x", 2, "--speed is 1e+09, want 1e-06 to 1e+06, or 0 for no pauses; --stream is \"a.b\""},
		{"a password that no URL has", "in --bus DIR --stream S --nats nats://u:sec%zzret@x", 2, "--nats has nats://xxxxx@x, which is malformed"},
		{"a password that no URL has, of a source", "convert nats://u:sec%zzret@x/S --out DIR/x.tbr", 2, "nats://xxxxx@x/S is no URL of a log"},
		{"a password in front of a broker", "in --bus DIR --topic T --kafka u:secret@x", 2, "--kafka has a user in front of \"x\", want --sasl-user and"},
		{"no recording", "convert --stream S --nats " + server.URL, 2, "--out"},
		{"no log", "convert --out DIR/x.tbr", 2, "no log is named"},
		{"two logs", "convert nats://x/S --stream S --out DIR/x.tbr", 2, "named twice"},
		{"a log of another kind", "convert http://x/S --out DIR/x.tbr", 2, "http://x/S is no log that this program reads"},
		{"no stream in the URL", "convert nats://x --out DIR/x.tbr", 2, "want servers and a name"},
		{"an end that is none", "convert nats://x/S --out DIR/x.tbr --until 0", 2, "got \"0\""},
		{"a recording that is there", "convert nats://x/S --out /dev/null", 1, "file exists: give another name"},
		{"a loss file", "out --bus DIR --tags 1 --stream S --loss-file f --nats " + server.URL, 2, "--loss-file"},
		{"a bus on servers that are away", "out --bus etcd://127.0.0.1:1/x --duration 1m --tags 1 --stream NONE --nats " + server.URL, 1, "stream NONE does not exist: make it"},
		{"a stream that does not exist", "out --bus DIR --tags 1 --stream NONE --nats " + server.URL, 1, "stream NONE does not exist: make it"},
		{"a server that never comes", "in --bus DIR --duration 100ms --stream S --nats nats://127.0.0.1:1", 1, "the log was not there"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := start(t, strings.Fields(strings.ReplaceAll(test.args, "DIR", t.TempDir()))...)
			if code, _ := p.wait(t); code != test.code || !strings.Contains(p.err.String(), test.text) {
				t.Errorf("got status %d and\n%swant %d and %q", code, p.err.String(), test.code, test.text)
			}
		})
	}
}
