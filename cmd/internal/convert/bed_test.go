// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/convert"
	"tagbus/cmd/internal/rec/rectest"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/testkit"
	"tagbus/recording"
	"tagbus/tags"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var must = testkit.Must

var (
	start = time.Date(2026, 11, 24, 12, 0, 0, 123_456_789, time.UTC)
	alice = rectest.Alice
	bob   = &bus.Peer{Instance: "BBBBBBBBBBBBBBBBBBBBBB", Name: `b,"ob`, Host: "host2", PID: 12, Addr: netip.MustParseAddrPort("[fe80::1%eth0]:4002")}
)

// at returns start and some milliseconds.
func at(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }

func msg(ms int, p *bus.Peer, tag tags.Tag, counter uint64, status bus.Status, data string) recording.Record {
	return rectest.Message(at(ms), bus.Message{Tag: tag, Counter: counter, Status: status, Publisher: p, Data: []byte(data)})
}

func event(ms int, e recording.Event) recording.Record {
	e.Time = at(ms)
	return recording.Record{Event: &e}
}

// all is a recording with each kind of record.
func all() []recording.Record {
	request := msg(60, alice, 1, 3, 0, "command")
	request.Message.Message = request.WithRequestID(bus.RequestIDOf([16]byte{1, 2, 3, 15: 16}))
	return []recording.Record{
		event(0, recording.Event{Kind: recording.Joined, Peer: alice, Tags: tags.Of(1, 2)}),
		event(1, recording.Event{Kind: recording.Position, Peer: alice, Tag: 2, Count: 1 << 40}),
		event(2, recording.Event{Kind: recording.Joined, Peer: bob, Tags: tags.Of(1)}),
		msg(10, alice, 1, 1, 0, "hello, \"world\"\r\n"),
		msg(20, bob, 1, 1, 0x80, "\x00\x01\xff"),
		msg(20, alice, 2, 1<<40+1, 255, ""),
		msg(19, alice, 1, 2, 0, strings.Repeat("x", 1000)),
		event(50, recording.Event{Kind: recording.Gap, Peer: bob, Tag: 1, Count: 7, Cause: recording.CauseFull}),
		request,
		event(70, recording.Event{Kind: recording.Lost, Peer: bob, Text: "connection reset"}),
		event(71, recording.Event{Kind: recording.Vanished, Peer: bob}),
		event(80, recording.Event{Kind: recording.Ended, Peer: alice, Failed: true, Text: "no memory"}),
		event(90, recording.Event{Kind: recording.Stopped, Text: "by a signal"}),
	}
}

// entry is a record in a form that can be compared.
type entry struct {
	At      string
	Tag     tags.Tag
	Status  bus.Status
	Counter uint64
	Request string
	Data    string
	Peer    bus.Peer

	Kind   recording.EventKind
	Tags   string
	Cause  recording.Cause
	Failed bool
	Text   string
}

func of(r recording.Record) entry {
	peer := func(p *bus.Peer) bus.Peer {
		if p == nil {
			return bus.Peer{}
		}
		return *p
	}
	if e := r.Event; e != nil {
		return entry{
			At: e.Time.UTC().Format(time.RFC3339Nano), Tag: e.Tag, Counter: e.Count, Peer: peer(e.Peer),
			Kind: e.Kind, Tags: e.Tags.String(), Cause: e.Cause, Failed: e.Failed, Text: e.Text,
		}
	}
	return entry{
		At: r.Time.UTC().Format(time.RFC3339Nano), Tag: r.Tag, Status: r.Status, Counter: r.Counter,
		Request: r.RequestID().String(), Data: string(r.Data), Peer: peer(r.Publisher),
	}
}

func ofAll(records []recording.Record) (out []entry) {
	for _, r := range records {
		out = append(out, of(r))
	}
	return out
}

// messagesOf leaves the events out.
func messagesOf(records []entry) (out []entry) {
	for _, r := range records {
		if r.Kind == 0 {
			out = append(out, r)
		}
	}
	return out
}

func differ(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b bus.Peer) bool { return a == b })); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

// bed is a folder with files.
type bed struct {
	*testing.T
	dir string
	ctx context.Context // of the commands
}

func newBed(t *testing.T) *bed { return &bed{t, t.TempDir(), t.Context()} }

func (b *bed) path(name string) string { return filepath.Join(b.dir, name) }

// record writes a recording, with blocks of a size.
func (b *bed) record(name string, blockBytes int, records ...recording.Record) {
	b.Helper()
	rectest.Write(b, b.path(name), rectest.Header(7, start), recording.Config{BlockBytes: blockBytes}, slices.Values(records))
}

// read returns what is in a recording.
func (b *bed) read(name string) (out []entry) {
	b.Helper()
	for rec := range rectest.Read(b, b.path(name)) {
		out = append(out, of(rec))
	}
	return out
}

// file returns the content of a file.
func (b *bed) file(name string) []byte {
	b.Helper()
	data, err := os.ReadFile(b.path(name))
	must(b, err)
	return data
}

// result is what a command has said.
type result struct {
	out, said string
	err       error
	status    int
}

// run runs a command line of which words with a point in the middle are files of the folder.
func (b *bed) run(args ...string) result {
	b.Helper()
	var out bytes.Buffer
	r := b.runTo(&out, args...)
	r.out = out.String()
	return r
}

// runTo is run with a standard output.
func (b *bed) runTo(out interface{ Write([]byte) (int, error) }, args ...string) result {
	b.Helper()
	var flags struct {
		convert.Command
		JSON bool `name:"json"`
	}
	parser, err := kong.New(&flags)
	must(b, err)
	for i, a := range args {
		if ext := filepath.Ext(a); ext != "" && !strings.Contains(a, "/") {
			args[i] = b.path(a)
		}
	}
	_, err = parser.Parse(args)
	must(b, err)
	var said bytes.Buffer
	env := &tool.Env{Flags: &tool.Flags{JSON: flags.JSON}, Streams: cli.Streams{Out: out, Err: &said}}
	status := cli.ExitDone
	if err = flags.Check(); err != nil {
		status = cli.ExitUsage
	} else if err = flags.Run(b.ctx, env); err != nil {
		status = tool.Code(err)
	}
	if told := (*tool.StatusError)(nil); err != nil && !errors.As(err, &told) {
		fmt.Fprintln(&said, cli.Text(err))
	}
	return result{said: strings.ReplaceAll(said.String(), b.dir+"/", ""), err: err, status: status}
}

// wants runs a command line that is to say something with a status.
func (b *bed) wants(status int, want string, args ...string) result {
	b.Helper()
	r := b.run(args...)
	if r.status != status || r.said != want {
		b.Errorf("%q: got status %d and\n%swant %d and\n%s", args, r.status, r.said, status, want)
	}
	return r
}
