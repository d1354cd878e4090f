// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/recording"
	"tagbus/tags"
)

// counting counts the bytes that are read.
type counting struct {
	io.ReaderAt
	bytes atomic.Int64
}

// ReadAt implements io.ReaderAt.
func (c *counting) ReadAt(b []byte, offset int64) (int, error) {
	c.bytes.Add(int64(len(b)))
	return c.ReaderAt.ReadAt(b, offset)
}

// varied are records of all kinds, 10 µs from one to the next.
func varied() []recording.Record {
	all := numbered(300)
	mixed := []recording.Record{
		event(-10, recording.Event{Kind: recording.Joined, Peer: alice, Tags: tags.Of(1, 2, 3)}),
		event(-9, recording.Event{Kind: recording.Joined, Peer: bob, Tags: tags.Of(3)}),
		event(-8, recording.Event{Kind: recording.Position, Peer: alice, Tag: 1}),
	}
	mixed = append(mixed, all[:150]...)
	mixed = append(mixed,
		event(1495, recording.Event{Kind: recording.Gap, Peer: bob, Tag: 2, Count: 5, Cause: recording.CauseFull}),
		event(1496, recording.Event{Kind: recording.Lost, Peer: alice, Text: "no route"}))
	mixed = append(mixed, all[150:]...)
	return append(mixed, event(3001, recording.Event{Kind: recording.Stopped, Text: "end"}))
}

// selects reports whether a query selects a record: the obvious way.
func selects(q recording.Query, r record) bool {
	if at := time.Unix(0, r.ns); at.Before(q.From) || !q.To.IsZero() && !at.Before(q.To) {
		return false
	}
	if q.Publisher != "" && r.kind != recording.Stopped && r.peer.Name != q.Publisher && r.peer.Instance != q.Publisher {
		return false
	}
	if q.Tags.IsEmpty() {
		return true
	}
	switch r.kind {
	case 0, recording.Gap, recording.Position:
		return q.Tags.Contains(r.tag)
	case recording.Joined:
		set, err := tags.ParseSet(r.tags)
		return err == nil && set.Intersects(q.Tags)
	default:
		return true
	}
}

func TestQuery_selects(t *testing.T) {
	at := func(us int) time.Time { return start.Add(time.Duration(us) * time.Microsecond) }
	queries := map[string]recording.Query{
		"everything":               {},
		"a tag":                    {Tags: tags.Of(2)},
		"tags":                     {Tags: tags.Of(1, 3, 77)},
		"no such tag":              {Tags: tags.Of(77)},
		"from":                     {From: at(1000)},
		"to":                       {To: at(1000)},
		"from and to":              {From: at(1000), To: at(1500)},
		"a time without records":   {From: at(100_000)},
		"a publisher by name":      {Publisher: "bob"},
		"a publisher by instance":  {Publisher: alice.Instance},
		"no such publisher":        {Publisher: "carol"},
		"tag, time and publisher":  {Tags: tags.Of(2), From: at(500), To: at(2000), Publisher: "alice"},
		"a tag of one publisher":   {Tags: tags.Of(3), Publisher: "bob"},
		"times that no file has":   {From: time.Unix(-1<<40, 0), To: time.Unix(1<<40, 0)},
		"a time of one nanosecond": {From: at(10), To: at(10).Add(1)},
	}
	all := varied()
	for _, codec := range codecs {
		r := open(t, file(t, recording.Header{}, recording.Config{BlockBytes: 512, Codec: codec}, all...))
		for name, q := range queries {
			t.Run(codec.String()+"/"+name, func(t *testing.T) {
				want := slices.DeleteFunc(forms(all...), func(r record) bool { return !selects(q, r) })
				got, errs := read(recording.Readers{r}, q)
				if !slices.Equal(got, want) || errs != nil {
					t.Errorf("records: got %d and errors %v, want %d", len(got), errs, len(want))
				}
				want = slices.DeleteFunc(want, func(r record) bool { return r.kind != 0 })
				got = nil
				for m, err := range r.Messages(q) {
					must(t, err)
					got = append(got, of(recording.Record{Message: m}))
				}
				if !slices.Equal(got, want) {
					t.Errorf("messages: got %d, want %d", len(got), len(want))
				}
			})
		}
	}
}

// TestReader_readsOnlyTheBlocksThatAreWanted counts bytes: of a tag that few blocks have, and of
// a short time.
func TestReader_readsOnlyTheBlocksThatAreWanted(t *testing.T) {
	var all []recording.Record
	for i := range 10_000 {
		all = append(all, message(i, alice, tags.Tag(1+i/5000), uint64(1+i%5000), fmt.Sprintf("%090d", i)))
	}
	all[7000].Tag = 99
	b := file(t, recording.Header{}, recording.Config{BlockBytes: 10_000}, all...)
	for name, q := range map[string]recording.Query{
		"a rare tag":   {Tags: tags.Of(99)},
		"a short time": {From: all[3000].Time, To: all[3001].Time},
		"no such tag":  {Tags: tags.Of(1234)},
	} {
		counted := &counting{ReaderAt: bytes.NewReader(b)}
		r, err := recording.NewReader(counted, int64(len(b)), recording.ReaderConfig{})
		must(t, err)
		want := 0
		for _, rec := range forms(all...) {
			if selects(q, rec) {
				want++
			}
		}
		if got, errs := read(recording.Readers{r}, q); len(got) != want || errs != nil {
			t.Errorf("%s: got %d records and errors %v, want %d", name, len(got), errs, want)
		}
		if got := counted.bytes.Load(); got > int64(len(b)/20) {
			t.Errorf("%s: got %d bytes read of %d, want few", name, got, len(b))
		}
	}
}

func TestMessage_ofARecordingIsRetained(t *testing.T) {
	all := numbered(50)
	r := open(t, file(t, recording.Header{}, recording.Config{BlockBytes: 256, Codec: recording.S2}, all...))
	var kept []bus.Message
	for m, err := range r.Messages(recording.Query{}) {
		must(t, err)
		must(t, m.Retain())
		kept = append(kept, m.Message)
	}
	for i := range kept {
		if !bytes.Equal(kept[i].Data, all[i].Data) {
			t.Errorf("message %d: got %q, want %q", i, kept[i].Data, all[i].Data)
		}
		if kept[i].Release(); kept[i].Data != nil {
			t.Errorf("message %d has data after its release", i)
		}
	}
	if len(kept) != len(all) {
		t.Errorf("got %d messages, want %d", len(kept), len(all))
	}
}

func TestReader_equalPublishersAreOnePointer(t *testing.T) {
	again := *alice // of another connection
	b := file(t, recording.Header{}, recording.Config{BlockBytes: 256}, append(numbered(50), message(1, &again, 1, 1, ""))...)
	seen := make(map[*bus.Peer]int)
	for m, err := range open(t, b).Messages(recording.Query{}) {
		must(t, err)
		seen[m.Publisher]++
	}
	if len(seen) != 2 {
		t.Errorf("got %d pointers, want those of alice and bob", len(seen))
	}
}

func TestReader_aLoopMayEndEarlyAndBeginAgain(t *testing.T) {
	all := numbered(50)
	r := open(t, file(t, recording.Header{}, recording.Config{BlockBytes: 256}, all...))
	messages := r.Messages(recording.Query{})
	for range 2 {
		n := 0
		for m, err := range messages {
			must(t, err)
			if got, want := of(recording.Record{Message: m}), of(all[n]); got != want {
				t.Fatalf("got %+v, want %+v", got, want)
			}
			if n++; n == 20 {
				break
			}
		}
	}
}

func TestReader_allocatesNothingPerMessage(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	const n = 10_000
	for _, codec := range codecs {
		r := open(t, file(t, recording.Header{}, recording.Config{Codec: codec}, numbered(n)...))
		read := 0
		allocations := testing.AllocsPerRun(5, func() {
			for _, err := range r.Messages(recording.Query{}) {
				must(t, err)
				read++
			}
		})
		if read < n || allocations > n/100 {
			t.Errorf("%v: got %v allocations for %d messages, want those of the blocks only", codec, allocations, n)
		}
	}
}
