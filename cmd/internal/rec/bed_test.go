// SPDX-License-Identifier: Apache-2.0

package rec_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/rec"
	"tagbus/cmd/internal/rec/rectest"
	"tagbus/cmd/internal/tool/tooltest"
	"tagbus/internal/testkit"
	"tagbus/recording"
	"tagbus/tags"
)

func TestMain(m *testing.M) {
	time.Local = time.UTC // what is printed is in the zone of the host
	os.Exit(m.Run())
}

var must = testkit.Must

var (
	start = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	alice = rectest.Alice
	bob   = &bus.Peer{Instance: "BBBBBBBBBBBBBBBBBBBBBB", Name: "bob", Host: "host2", PID: 12}
)

// at returns start and some milliseconds.
func at(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }

// msg returns a message at start and some milliseconds.
func msg(ms int, p *bus.Peer, tag tags.Tag, counter uint64) recording.Record {
	return rectest.Message(at(ms), bus.Message{Tag: tag, Counter: counter, Publisher: p, Data: fmt.Appendf(nil, "%s %d", p.Name, counter)})
}

// msgs returns messages with counters from first to last, one each 10 ms.
func msgs(ms int, p *bus.Peer, tag tags.Tag, first, last uint64) (all []recording.Record) {
	for n := first; n <= last; n++ {
		all = append(all, msg(ms+int(n-first)*10, p, tag, n))
	}
	return all
}

// event returns an event at start and some milliseconds.
func event(ms int, e recording.Event) recording.Record {
	e.Time = at(ms)
	return recording.Record{Event: &e}
}

func joined(ms int, p *bus.Peer, t ...tags.Tag) recording.Record {
	return event(ms, recording.Event{Kind: recording.Joined, Peer: p, Tags: tags.Of(t...)})
}

func ended(ms int, p *bus.Peer) recording.Record {
	return event(ms, recording.Event{Kind: recording.Ended, Peer: p})
}

func gap(ms int, p *bus.Peer, tag tags.Tag, n uint64, c recording.Cause) recording.Record {
	return event(ms, recording.Event{Kind: recording.Gap, Peer: p, Tag: tag, Count: n, Cause: c})
}

func stop(ms int) recording.Record {
	return event(ms, recording.Event{Kind: recording.Stopped, Text: "by a signal"})
}

// join returns records one behind the other.
func join(parts ...any) (all []recording.Record) {
	for _, p := range parts {
		switch p := p.(type) {
		case recording.Record:
			all = append(all, p)
		case []recording.Record:
			all = append(all, p...)
		}
	}
	return all
}

// bed is a folder with recordings.
type bed struct {
	*testing.T
	dir string
	ctx context.Context // of the commands
}

func newBed(t *testing.T) *bed { return &bed{t, t.TempDir(), t.Context()} }

func (b *bed) path(name string) string { return filepath.Join(b.dir, name) }

// header is that of a recording with this number.
func header(id byte) recording.Header { return rectest.Header(id, start) }

// record writes a file of records.
func (b *bed) record(name string, h recording.Header, records ...recording.Record) {
	b.Helper()
	rectest.Write(b, b.path(name), h, recording.Config{BlockBytes: 256}, slices.Values(records))
}

// change changes the bytes of a file.
func (b *bed) change(name string, change func([]byte) []byte) {
	b.Helper()
	data, err := os.ReadFile(b.path(name))
	must(b, err)
	must(b, os.WriteFile(b.path(name), change(data), 0o600))
}

// cutOff takes bytes off the end of a file.
func (b *bed) cutOff(name string, n int) {
	b.Helper()
	b.change(name, func(data []byte) []byte { return data[:len(data)-n] })
}

// zeros are what makes tags long.
var zeros = regexp.MustCompile(`0x0{14,15}([1-9a-f])`)

// result is what a command has said.
type result struct {
	out, err string
	status   int
}

// run runs a command line. Words that end in .tbr are files of the folder.
func (b *bed) run(line string) result {
	b.Helper()
	args := strings.Fields(line)
	for i, a := range args {
		if strings.HasSuffix(a, ".tbr") {
			args[i] = b.path(a)
		}
	}
	out, errs, status := tooltest.Run(b.ctx, b, new(rec.Commands), args...)
	clean := func(text string) string {
		text = strings.ReplaceAll(text, b.dir+"/", "")
		return zeros.ReplaceAllString(strings.ReplaceAll(text, "TAG               ", "TAG "), "0x$1")
	}
	return result{clean(out), clean(errs), status}
}

// wants runs a command line that is to say something with a status.
func (b *bed) wants(line string, status int, want string) {
	b.Helper()
	got := b.run(line)
	if got.out+got.err != want || got.status != status {
		b.Errorf("%s: got status %d and\n%s%s, want %d and\n%s", line, got.status, got.out, got.err, status, want)
	}
}

// says runs a command line whose output is to have some parts.
func (b *bed) says(line string, status int, parts ...string) result {
	b.Helper()
	got := b.run(line)
	for _, p := range parts {
		if !strings.Contains(got.out+got.err, p) {
			b.Errorf("%s: got status %d and\n%s%s\nwant %q in it", line, got.status, got.out, got.err, p)
		}
	}
	if got.status != status {
		b.Errorf("%s: got status %d and\n%s%s\nwant status %d", line, got.status, got.out, got.err, status)
	}
	return got
}

// lines returns what is in a recording, a line each.
func (b *bed) lines(name string) (all []string) {
	b.Helper()
	for rec := range rectest.Read(b, b.path(name)) {
		if e := rec.Event; e != nil {
			all = append(all, e.String())
			continue
		}
		all = append(all, fmt.Sprintf("%v %d %s", rec.Tag, rec.Counter, rec.Data))
	}
	return all
}

// simple is a whole recording of two publishers over 1 s.
func simple() []recording.Record {
	return join(joined(0, alice, 1, 2), joined(0, bob, 3), msgs(0, alice, 1, 1, 50), msgs(500, bob, 3, 1, 20), msgs(700, alice, 2, 7, 30),
		ended(940, alice), ended(950, bob), stop(1000))
}
