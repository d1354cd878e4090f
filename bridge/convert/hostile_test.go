// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"tagbus/bridge/convert"
	"tagbus/bridge/durable"
	"tagbus/bridge/internal/memlog"
	"tagbus/bridge/record"
	"tagbus/bus"
	"tagbus/recording"
	"tagbus/tags"
)

// fill is a log that is being filled.
type fill struct {
	t    *testing.T
	log  *memlog.Log
	last map[durable.Key]durable.Position
}

func newFill(t *testing.T) *fill {
	t.Helper()
	return &fill{t, memlog.New(64<<20, nil), make(map[durable.Key]durable.Position)}
}

func (f *fill) add(key durable.Key, data []byte) {
	f.t.Helper()
	f.log.Append(durable.Append{Key: key, After: f.last[key], Data: data, Done: func(at durable.Position, err error) {
		if err != nil {
			f.t.Fatal(err)
		}
		f.last[key] = at
	}})
}

var alice = &bus.Peer{Instance: "ALICE", Name: "alice"}

// mark adds a record without messages.
func (f *fill) mark(tag tags.Tag, r record.Record) {
	f.t.Helper()
	if r.Peer == nil {
		r.Peer = alice
	}
	r.Tag, r.Time = tag, time.Now()
	f.add(durable.Key{Tag: tag, Instance: r.Peer.Instance}, record.Append(nil, &r))
}

// messages adds messages of counters.
func (f *fill) messages(tag tags.Tag, first uint64, n int, data []byte) {
	f.t.Helper()
	var b record.Batch
	for i := range n {
		m := bus.Message{Tag: tag, Counter: first + uint64(i), Publisher: alice, Data: data}
		if i == 0 {
			b.Begin(nil, time.Now(), &m)
		}
		b.Add(time.Now(), &m)
	}
	f.add(durable.Key{Tag: tag, Instance: alice.Instance}, b.Seal())
}

// convert makes a recording, and returns it also after an error.
func (f *fill) convert(cfg convert.Config) (*content, convert.Report, error) {
	f.t.Helper()
	var file bytes.Buffer
	w, err := recording.NewWriter(&file, recording.Header{}, recording.Config{})
	if err != nil {
		f.t.Fatal(err)
	}
	report, failed := convert.Run(f.t.Context(), f.log, w, cfg)
	if err := w.Close(); err != nil {
		f.t.Fatal(err)
	}
	return read(f.t, file.Bytes()), report, failed
}

// TestRun_aSpan of the log has what its records have, and says where it begins.
func TestRun_aSpan(t *testing.T) {
	f := newFill(t)
	f.mark(1, record.Record{Kind: record.Begin, First: 4})
	f.messages(1, 4, 2, nil)
	f.messages(1, 5, 2, nil) // 5 again
	f.mark(1, record.Record{Kind: record.Lost, First: 7, Count: 5, Text: "why", Causes: []record.Share{{Cause: record.CauseFull, Count: 3}, {Cause: record.CauseTooLarge, Count: 1}}})
	f.messages(1, 14, 1, nil) // 12 and 13 are nowhere
	f.messages(2, 1, 1, nil)
	f.mark(1, record.Record{Kind: record.End, First: 15, How: record.Away})
	got, report, err := f.convert(convert.Config{Query: durable.Query{Tags: tags.Of(1)}})
	if err != nil {
		t.Fatal(err)
	}
	if want := (convert.Report{Messages: 4, Events: 8, Records: 6, Chains: 1, Lost: 5, Hole: 2, Unknown: 1, Repeated: 1, First: 1, Last: 7}); report != want {
		t.Errorf("got %+v, want %+v", report, want)
	}
	s := got.series["alice "+tags.Tag(1).String()]
	if s.position != 3 || s.gaps[recording.CauseFull] != 3 || s.gaps[recording.CauseOther] != 4 || got.report.Total().Unexplained > 0 {
		t.Errorf("got %+v, want it behind 3, and 7 in gaps", s)
	}
	if got.ends["alice"] != "vanished false while no bridge ran" {
		t.Errorf("got the ends %q", got.ends)
	}
	got, report, err = f.convert(convert.Config{Query: durable.Query{Start: durable.Start{After: 2}, End: durable.End{Before: 5}}})
	if s := got.series["alice "+tags.Tag(1).String()]; err != nil || report.Begun != 1 || report.Messages != 2 || report.Last != 4 || s.position != 4 || len(got.ends) > 0 {
		t.Errorf("got %+v, %v, %+v, want the messages 5 and 6", report, err, s)
	}
}

// TestRun_badInput has an error that names it.
func TestRun_badInput(t *testing.T) {
	f := newFill(t)
	f.messages(1, 1, 1, nil)
	f.messages(2, 1, 1, nil)
	var gap *durable.GapError
	var readErr *convert.ReadError
	var many *convert.TooManyError
	if _, _, err := f.convert(convert.Config{Query: durable.Query{Start: durable.Start{After: 2}}}); !errors.Is(err, convert.ErrEmpty) {
		t.Errorf("got %v for a span behind the end, want ErrEmpty", err)
	}
	if _, _, err := f.convert(convert.Config{MaxChains: 1}); !errors.As(err, &many) || many.Limit != 1 || many.Key.Tag != 2 {
		t.Errorf("got %v, want a *TooManyError of tag 2", err)
	}
	if _, _, err := f.convert(convert.Config{WindowBytes: -1, MaxChains: -1, Query: durable.Query{Follow: true}}); !errors.Is(err, convert.ErrInvalidConfig) ||
		strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("got %v, want three violations", err)
	}
	f.add(durable.Key{Tag: 9, Instance: "ALICE"}, record.Append(nil, &record.Record{Kind: record.Begin, First: 1, Tag: 8, Peer: alice, Time: time.Now()}))
	if _, _, err := f.convert(convert.Config{}); !errors.As(err, &readErr) || readErr.Position != 3 || !strings.Contains(err.Error(), "it is a record of tag 0x0000000000000008") {
		t.Errorf("got %v, want a *ReadError of entry 3", err)
	}
	f.add(durable.Key{Tag: 3, Instance: "ALICE"}, []byte("hello"))
	if _, _, err := f.convert(convert.Config{Query: durable.Query{Tags: tags.Of(3)}}); !errors.As(err, &readErr) || readErr.Position != 4 || !errors.Is(err, record.ErrNotRecord) {
		t.Errorf("got %v, want a *ReadError of entry 4", err)
	}
	f.log.Drop(2)
	if _, _, err := f.convert(convert.Config{Query: durable.Query{Start: durable.Start{After: 1}}}); !errors.As(err, &gap) || gap.First != 3 {
		t.Errorf("got %v, want a *durable.GapError", err)
	}
	f.log.SetAway(true)
	if _, _, err := f.convert(convert.Config{}); !errors.Is(err, memlog.ErrAway) {
		t.Errorf("got %v, want that of the log", err)
	}
}

// TestRun_hostile logs take bounded memory, and no sum becomes small again.
func TestRun_hostile(t *testing.T) {
	const most = math.MaxInt64
	f := newFill(t)
	for tag := range tags.Tag(3) { // the holes together exceed 64 bits
		f.mark(tag, record.Record{Kind: record.Begin, First: 1})
		f.mark(tag, record.Record{Kind: record.Lost, First: most - 3, Count: 2, Causes: []record.Share{{Cause: record.CauseFull, Count: 1}, {Cause: 200, Count: 1}}})
	}
	long := strings.Repeat("x", 4<<20)
	f.mark(4, record.Record{Kind: record.Lost, First: 1, Count: most - 1, Text: long})
	f.mark(5, record.Record{Kind: record.Lost, First: 1, Count: most - 1})
	f.mark(6, record.Record{Kind: record.Lost, First: 1, Count: most - 1, Peer: &bus.Peer{Instance: "BOB", Name: long}})
	f.mark(7, record.Record{Kind: record.End, First: most, How: record.Failed, Text: long})
	_, report, err := f.convert(convert.Config{})
	if err != nil || report.Hole != math.MaxUint64 || report.Lost != math.MaxUint64 {
		t.Errorf("got %+v, %v, want the sums at their largest", report, err)
	}

	var many *convert.TooManyError
	f = newFill(t)
	f.add(durable.Key{Tag: 9, Instance: "ALICE"}, record.Append(nil, &record.Record{Kind: record.Begin, First: 1, Tag: 8, Peer: &bus.Peer{Instance: "BOB", Name: long}, Time: time.Now()}))
	if _, _, err := f.convert(convert.Config{}); err == nil || len(err.Error()) > 5000 {
		t.Errorf("got %.1000v, want an error in few words", err)
	}
	f = newFill(t)
	for n := range 20 { // 80 MiB of names
		f.mark(1, record.Record{Kind: record.Begin, First: 1, Peer: &bus.Peer{Instance: fmt.Sprintf("%02d%s", n, long)}})
	}
	if _, _, err := f.convert(convert.Config{}); !errors.As(err, &many) || len(err.Error()) > 1000 {
		t.Errorf("got %.1000v, want a *TooManyError in few words", err)
	}
}
