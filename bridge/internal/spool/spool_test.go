// SPDX-License-Identifier: Apache-2.0

package spool_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tagbus/bridge/internal/spool"
	"tagbus/bridge/internal/spool/memdisk"
	"tagbus/bridge/record"
	"tagbus/bus"
	"tagbus/recording"
	"tagbus/tags"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const limit = 1 << 20

var (
	start = time.Unix(1_700_000_000, 5)
	alice = &bus.Peer{Instance: "ALICE", Name: "alice", Host: "h", PID: 7}
	bob   = &bus.Peer{Instance: "BOB"}
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// messages returns a record of messages.
func messages(t *testing.T, p *bus.Peer, tag tags.Tag, first uint64, data ...string) *record.Record {
	t.Helper()
	var b record.Batch
	for i, text := range data {
		at := start.Add(time.Duration(i) * time.Second)
		m := bus.Message{Tag: tag, Counter: first + uint64(i), Publisher: p, Status: bus.Status(i), Data: []byte(text)}.WithRequestID(bus.RequestIDOf([16]byte{byte(i)}))
		if i == 0 {
			b.Begin(nil, at, &m)
		}
		b.Add(at, &m)
	}
	r, err := record.Parse(b.Seal())
	must(t, err)
	return r
}

// mark returns a record without messages.
func mark(kind record.Kind, p *bus.Peer, first, count uint64, change func(*record.Record)) *record.Record {
	r := &record.Record{Kind: kind, Peer: p, Tag: 1, First: first, Count: count, Time: start}
	if change != nil {
		change(r)
	}
	return r
}

// put puts records.
func put(t *testing.T, s *spool.Spool, all ...*record.Record) {
	t.Helper()
	must(t, s.Put(all, int64(len(all))*100))
}

// line is a record that was read.
func line(r *spool.Record) string {
	text := fmt.Sprintf("%s %d %v %d+%d", r.Peer.Instance, r.Tag, r.Kind, r.First, r.Count)
	for _, s := range r.Causes {
		text += fmt.Sprintf(" %v:%d", s.Cause, s.Count)
	}
	if m := r.Message; m != nil {
		text += fmt.Sprintf(" %v %d %v %s", m.Time.Sub(start), m.Status, m.RequestID().Bytes()[0], m.Data)
	}
	if r.Kind == record.End {
		text += " " + r.How.String()
	}
	return text + r.Text
}

// read reads all, and removes it.
func read(t *testing.T, s *spool.Spool) (all []string) {
	t.Helper()
	for seg := s.Next(); seg != nil; seg = s.Next() {
		for r, err := range s.Read(seg) {
			if err != nil {
				all = append(all, err.Error())
				continue
			}
			all = append(all, line(r))
		}
		must(t, s.Remove(seg))
	}
	return all
}

// TestSpool_readsWhatWasPut in its order, also after another start.
func TestSpool_readsWhatWasPut(t *testing.T) {
	dir := t.TempDir()
	open := func() *spool.Spool {
		t.Helper()
		f, err := spool.OpenFolder(dir)
		must(t, err)
		s, err := spool.Open(f, "stream X", limit)
		must(t, err)
		return s
	}
	s := open()
	if !s.Empty() || s.Next() != nil {
		t.Error("got something of a new spool, want nothing")
	}
	put(t, s, mark(record.Begin, alice, 5, 0, nil), messages(t, alice, 1, 5, "a", "b"),
		mark(record.Lost, alice, 7, 5, func(r *record.Record) {
			r.Causes = []record.Share{{Cause: record.CauseFull, Count: 2}, {Cause: record.CauseTooLarge, Count: 2}}
		}), messages(t, bob, 1, 100, "x"))
	put(t, s, messages(t, alice, 1, 12, "c"), mark(record.End, alice, 13, 0, func(r *record.Record) { r.How, r.Text = record.Failed, " it burns" }),
		mark(record.End, bob, 101, 0, func(r *record.Record) { r.How = record.Stopped }))
	if bytes, n := s.Size(); bytes == 0 || n != 4 || s.Empty() {
		t.Errorf("got %d bytes and %d messages, want 4", bytes, n)
	}
	must(t, s.Close())
	s = open()
	put(t, s, messages(t, bob, 1, 101, "y"))
	want := []string{
		"ALICE 1 begin 5+0", "ALICE 1 messages 5+1 0s 0 0 a", "ALICE 1 messages 6+1 1s 1 1 b",
		"ALICE 1 lost 7+2 full:2", "ALICE 1 lost 9+2 too-large:2", "ALICE 1 lost 11+1",
		"BOB 1 begin 100+0", "BOB 1 messages 100+1 0s 0 0 x", "ALICE 1 messages 12+1 0s 0 0 c",
		"ALICE 1 end 13+0 failed it burns", "BOB 1 end 101+0 stopped",
		"BOB 1 begin 101+0", "BOB 1 messages 101+1 0s 0 0 y",
	}
	if got := read(t, s); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if bytes, n := s.Size(); bytes != 0 || n != 0 || !s.Empty() {
		t.Errorf("got %d bytes and %d messages, want none", bytes, n)
	}
	must(t, s.Close())
	if files, _ := os.ReadDir(dir); len(files) != 1 || files[0].Name() != "lock" {
		t.Errorf("got the files %v, want the lock alone", files)
	}
}

// TestOpen_badInput has an error that names it.
func TestOpen_badInput(t *testing.T) {
	dir := t.TempDir()
	f, err := spool.OpenFolder(dir)
	must(t, err)
	if _, err := spool.OpenFolder(dir); !errors.Is(err, spool.ErrInUse) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v, want ErrInUse", err)
	}
	s, err := spool.Open(f, "stream X", limit)
	must(t, err)
	put(t, s, messages(t, alice, 1, 5, "a"))
	must(t, s.Close())

	var other *spool.OtherLogError
	f, err = spool.OpenFolder(dir)
	must(t, err)
	if _, err := spool.Open(f, "stream Y", limit); !errors.As(err, &other) || other.Has != "stream X" || other.Want != "stream Y" || other.Spool != dir {
		t.Errorf("got %v, want an *OtherLogError", err)
	}
	name := filepath.Join(dir, "spool-0000000000000009.tbr")
	must(t, os.WriteFile(name, []byte("something else, and long enough to have a header of a recording"), 0o600))
	if _, err := spool.Open(f, "stream X", limit); !errors.Is(err, recording.ErrNotRecording) || !strings.Contains(err.Error(), "segment 9") {
		t.Errorf("got %v, want ErrNotRecording of segment 9", err)
	}
	must(t, os.WriteFile(name, nil, 0o600)) // a bridge was killed that has just begun it
	must(t, os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600))
	s, err = spool.Open(f, "stream X", limit)
	must(t, err)
	if got := read(t, s); len(got) != 2 {
		t.Errorf("got %q, want a message and its place", got)
	}
	must(t, s.Close())
	if _, err := spool.OpenFolder(filepath.Join(dir, "notes.txt")); err == nil {
		t.Error("got no error for a file, want one")
	}
}

// TestSpool_bounds its files, which come and go in segments.
func TestSpool_bounds(t *testing.T) {
	d := memdisk.New()
	s, err := spool.Open(d, "x", limit)
	must(t, err)
	data := make([]string, 100)
	for i := range data {
		data[i] = strings.Repeat("x", 400)
	}
	n := uint64(0)
	for err = nil; err == nil; n += 100 {
		err = s.Put([]*record.Record{messages(t, alice, 1, n+1, data...)}, 42_000)
	}
	bytes, _ := s.Size()
	if files, _ := d.Files(); !errors.Is(err, spool.ErrFull) || bytes > limit || bytes < limit-100_000 || files < 5 {
		t.Errorf("got %v with %d bytes in %d files, want ErrFull at %d bytes", err, bytes, files, limit)
	}
	seg := s.Next()
	for r, err := range s.Read(seg) {
		must(t, err)
		if r.Message != nil && len(r.Message.Data) != 400 {
			t.Errorf("got %s", line(r))
		}
	}
	must(t, s.Remove(seg))
	must(t, s.Put([]*record.Record{messages(t, alice, 1, n+1, data...)}, 42_000))
}

// FuzzRead: whatever a segment has, what is read has its place in a chain.
func FuzzRead(f *testing.F) {
	t := &testing.T{}
	d := memdisk.New()
	s, err := spool.Open(d, "x", limit)
	if err != nil {
		f.Fatal(err)
	}
	put(t, s, mark(record.Begin, alice, 5, 0, nil), messages(t, alice, 1, 5, "a", "b"),
		mark(record.Lost, alice, 7, 5, func(r *record.Record) { r.Causes = []record.Share{{Cause: record.CauseFull, Count: 2}} }),
		mark(record.End, alice, 12, 0, func(r *record.Record) { r.How = record.Vanished }))
	f.Add(uint8(recording.Position), uint64(4), uint8(0), true, d.Bytes(0))
	f.Add(uint8(recording.Gap), uint64(1<<63), uint8(18), false, []byte{})
	f.Add(uint8(recording.Lost), uint64(0), uint8(5), false, []byte("x"))
	f.Fuzz(func(t *testing.T, kind uint8, count uint64, cause uint8, failed bool, file []byte) {
		d := memdisk.New()
		w, err := d.Create(1)
		must(t, err)
		_, err = w.Write(file)
		must(t, err)
		w, err = d.Create(2)
		must(t, err)
		to, err := recording.NewWriter(w, recording.Header{Name: "x"}, recording.Config{})
		must(t, err)
		must(t, to.Append(start, &bus.Message{Tag: 1, Counter: count / 2, Publisher: alice}))
		for range 3 {
			if err := to.AppendEvent(recording.Event{Kind: recording.EventKind(kind), Time: start, Peer: alice, Tag: 1, Count: count, Cause: recording.Cause(cause), Failed: failed}); err != nil {
				must(t, to.AppendEvent(recording.Event{Kind: recording.Gap, Time: start, Peer: bob, Count: count})) // without a place
			}
		}
		must(t, to.Close())
		s, err := spool.Open(d, "x", limit)
		if err != nil {
			return // it says why
		}
		for seg := s.Next(); seg != nil; seg = s.Next() {
			for r, err := range s.Read(seg) {
				if err == nil && (r.First == 0 || r.Next() < r.First || r.Next() > 1<<63 || r.Peer == nil || (r.Kind == record.Messages) != (r.Message != nil)) {
					t.Errorf("got %v", r)
				}
			}
		}
	})
}
