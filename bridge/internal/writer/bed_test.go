// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/memlog"
	"tagbus/bridge/internal/spool"
	"tagbus/bridge/internal/writer"
	"tagbus/bridge/record"
	"tagbus/bus"
	"tagbus/tags"
)

const limit = 64 << 10 // bytes of a record

var (
	alice = &bus.Peer{Instance: "ALICE", Name: "alice"}
	bob   = &bus.Peer{Instance: "BOB", Name: "bob"}
	every = tags.Everything()
)

// calls counts what a writer calls.
type calls struct {
	mu                     sync.Mutex
	pauses, resumes, asked int
	reports                []error
}

func (c *calls) count(n *int) func() {
	return func() { c.mu.Lock(); defer c.mu.Unlock(); *n++ }
}

// said returns what was called, as of now.
func (c *calls) said() calls {
	c.mu.Lock()
	defer c.mu.Unlock()
	return calls{pauses: c.pauses, resumes: c.resumes, asked: c.asked, reports: slices.Clone(c.reports)}
}

// open opens a writer on a log.
func open(t *testing.T, log durable.Log, change ...func(*writer.Config)) (*writer.Writer, *calls) {
	t.Helper()
	c := new(calls)
	cfg := writer.Config{
		Log: log, MaxBytes: 1 << 20, MaxChains: 1 << 20, RecordBytes: 4 << 10, MaxFlights: 16, RetryMin: 10 * time.Millisecond, RetryMax: 100 * time.Millisecond,
		Pause: c.count(&c.pauses), Resume: c.count(&c.resumes), Ask: c.count(&c.asked),
		Report: func(err error) { c.mu.Lock(); defer c.mu.Unlock(); c.reports = append(c.reports, err) },
	}
	for _, f := range change {
		f(&cfg)
	}
	w, err := writer.New(t.Context(), cfg, every)
	if err != nil {
		t.Fatal(err)
	}
	return w, c
}

// openSpool opens the spool of a disk.
func openSpool(t *testing.T, d spool.Disk, bytes int64) *spool.Spool {
	t.Helper()
	s, err := spool.Open(d, "memory", bytes)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// close closes a writer after all is stored.
func closeWriter(t *testing.T, w *writer.Writer) {
	t.Helper()
	if err := w.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
}

// kill ends a writer as a kill of its process does: nothing that it does reaches the log any more.
func kill(w *writer.Writer, log *memlog.Log) {
	_ = log.Close()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = w.Close(ended)
}

// payload is what the message of a counter has.
func payload(p *bus.Peer, tag tags.Tag, counter uint64) string {
	return fmt.Sprintf("%s/%d/%d", p.Instance, tag, counter)
}

// page returns the messages of counters.
func page(p *bus.Peer, tag tags.Tag, counters ...uint64) (all []bus.Message) {
	for _, n := range counters {
		all = append(all, bus.Message{Tag: tag, Counter: n, Publisher: p, Data: []byte(payload(p, tag, n))})
	}
	return all
}

// upTo returns the counters of a range.
func upTo(first, last uint64) (all []uint64) {
	for n := first; n <= last; n++ {
		all = append(all, n)
	}
	return all
}

// settle says where a publisher's tag stands.
func settle(w *writer.Writer, p *bus.Peer, tag tags.Tag, before, position uint64, losses ...record.Share) {
	w.Positions(w.Mark(), []writer.Standing{{Peer: p, Tag: tag, Before: before, Position: position, Losses: losses}})
}

// full returns the loss of messages for which there was no room.
func full(n uint64) record.Share { return record.Share{Cause: record.CauseFull, Count: n} }

// chain is what a log says of one key.
type chain struct {
	begin  uint64
	next   uint64
	lost   map[uint64]bool
	causes map[record.Cause]uint64
	end    record.How // of the last record; 0: it is no End
	kinds  string     // the first letter of each record's kind, with L for messages twice in a row left out
}

// read reads a log, and fails the test unless each chain is contiguous and its messages are those that were
// published.
func read(t *testing.T, log *memlog.Log) map[durable.Key]*chain {
	t.Helper()
	all := make(map[durable.Key]*chain)
	for _, e := range log.Entries() {
		r, err := record.Parse(e.Data)
		if err != nil {
			t.Fatalf("entry %d: %v", e.Position, err)
		}
		if want := (durable.Key{Tag: r.Tag, Instance: r.Peer.Instance}); e.Key != want {
			t.Errorf("entry %d: got the key %v, want %v", e.Position, e.Key, want)
		}
		c := all[e.Key]
		if c == nil {
			if r.Kind != record.Begin {
				t.Errorf("entry %d: the chain begins with %v", e.Position, r)
			}
			c = &chain{begin: r.First, next: r.First, lost: make(map[uint64]bool), causes: make(map[record.Cause]uint64)}
			all[e.Key] = c
		} else if r.Kind == record.Begin {
			t.Errorf("entry %d: the chain begins again with %v", e.Position, r)
		}
		if r.First != c.next {
			t.Errorf("entry %d: got %v, want it to begin with %d", e.Position, r, c.next)
		}
		c.take(t, e, r)
	}
	return all
}

func (c *chain) take(t *testing.T, e durable.Entry, r *record.Record) {
	t.Helper()
	c.next, c.end = r.Next(), r.How
	if letter := r.Kind.String()[:1]; letter != "m" || len(c.kinds) == 0 || c.kinds[len(c.kinds)-1:] != "m" {
		c.kinds += letter
	}
	for m := range r.Messages() {
		if want := payload(r.Peer, r.Tag, m.Counter); string(m.Data) != want {
			t.Errorf("entry %d: message %d has %q, want %q", e.Position, m.Counter, m.Data, want)
		}
	}
	if r.Kind != record.Lost {
		return
	}
	for n := r.First; n < r.Next(); n++ {
		c.lost[n] = true
	}
	for _, s := range r.Causes {
		c.causes[s.Cause] += s.Count
	}
}

// only returns the one chain of a log.
func only(t *testing.T, log *memlog.Log) *chain {
	t.Helper()
	all := read(t, log)
	if len(all) != 1 {
		t.Fatalf("got %d chains, want 1", len(all))
	}
	for _, c := range all {
		return c
	}
	return nil
}
