// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tagbus/bus"
	"tagbus/recording"
	"tagbus/tags"
)

var codecs = []recording.Codec{recording.None, recording.S2, recording.Zstd}

// drawRecord draws a message or an event.
func drawRecord(t *rapid.T) recording.Record {
	at := time.Unix(0, rapid.OneOf(rapid.Int64Range(0, 1000), rapid.Int64()).Draw(t, "ns"))
	peer := rapid.SampledFrom([]*bus.Peer{nil, alice, bob, {Instance: "x"}}).Draw(t, "peer")
	tag := tags.Tag(rapid.OneOf(rapid.Uint64Range(0, 5), rapid.Uint64()).Draw(t, "tag"))
	counter := rapid.OneOf(rapid.Uint64Range(0, 5), rapid.Uint64()).Draw(t, "counter")
	if rapid.IntRange(0, 4).Draw(t, "event") > 0 {
		m := bus.Message{
			Tag: tag, Counter: counter, Publisher: peer,
			Status: bus.Status(rapid.SampledFrom([]uint8{0, 0, 0, 1, 255}).Draw(t, "status")),
			Data:   rapid.SliceOfN(rapid.ByteRange(0, 3), 0, 300).Draw(t, "data"),
		}
		if rapid.IntRange(0, 9).Draw(t, "request") == 0 {
			m = m.WithRequestID(bus.RequestIDOf([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))))
		}
		return recording.Record{Message: recording.Message{Time: at, Message: m}}
	}
	return recording.Record{Event: &recording.Event{
		Kind: recording.EventKind(rapid.IntRange(int(recording.Joined), int(recording.Stopped)).Draw(t, "kind")),
		Time: at, Peer: peer, Tag: tag, Count: counter,
		Tags:   tags.Of(rapid.SliceOfN(rapid.Map(rapid.Uint64(), func(v uint64) tags.Tag { return tags.Tag(v) }), 0, 4).Draw(t, "tags")...),
		Cause:  recording.Cause(rapid.Byte().Draw(t, "cause")),
		Failed: rapid.Bool().Draw(t, "failed"), Text: rapid.String().Draw(t, "text"),
	}}
}

// TestWriter_whatIsWrittenIsRead: any records, in blocks and parts of any size, are read as they
// were written, with each codec.
func TestWriter_whatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var parts []*bytes.Buffer
		part := func() *bytes.Buffer {
			parts = append(parts, new(bytes.Buffer))
			return parts[len(parts)-1]
		}
		h := recording.Header{
			ID: recording.NewID(), Created: start, Host: rapid.String().Draw(t, "host"), Name: rapid.String().Draw(t, "name"),
			Version: rapid.String().Draw(t, "version"), Policy: rapid.String().Draw(t, "policy"), Tags: tags.Of(1, 5, 9),
		}
		w, err := recording.NewWriter(part(), h, recording.Config{
			BlockBytes: rapid.SampledFrom([]int{256, 2000, 1 << 20}).Draw(t, "block"), Codec: rapid.SampledFrom(codecs).Draw(t, "codec"),
		})
		if err != nil {
			t.Fatal(err)
		}
		var want []record
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				for range rapid.IntRange(1, 10).Draw(t, "records") {
					r := drawRecord(t)
					want = append(want, of(r))
					if r.Event != nil {
						err = w.AppendEvent(*r.Event)
					} else {
						err = w.Append(r.Time, &r.Message.Message)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
			},
			"page": func(t *rapid.T) {
				at, page := time.Unix(0, rapid.Int64().Draw(t, "ns")), []bus.Message(nil)
				for range rapid.IntRange(0, 10).Draw(t, "messages") {
					if r := drawRecord(t); r.Event == nil {
						r.Time = at
						want = append(want, of(r))
						page = append(page, r.Message.Message)
					}
				}
				if err := w.AppendPage(at, page); err != nil {
					t.Fatal(err)
				}
			},
			"flush": func(t *rapid.T) {
				if err := w.Flush(); err != nil {
					t.Fatal(err)
				}
			},
			"rotate": func(t *rapid.T) {
				if err := w.Rotate(part()); err != nil {
					t.Fatal(err)
				}
			},
		})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var readers recording.Readers
		for i, p := range parts {
			r, err := recording.NewReader(bytes.NewReader(p.Bytes()), int64(p.Len()), recording.ReaderConfig{})
			if err != nil {
				t.Fatal(err)
			}
			info := r.Info()
			if !info.Indexed || info.Continues != (i+1 < len(parts)) || info.Part != uint32(i) || info.ID != h.ID || info.Cut != 0 {
				t.Fatalf("part %d of %d: got %+v", i, len(parts), info)
			}
			readers = append(readers, r)
		}
		slices.Reverse(readers) // the order of the parts does not matter
		got, errs := read(readers, recording.Query{})
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(record{}), cmp.Comparer(func(a, b bus.Peer) bool { return a == b })); diff != "" || errs != nil {
			t.Fatalf("errors %v, records differ (-want +got):\n%s", errs, diff)
		}
		info := readers[len(readers)-1].Info()
		if info.Host != h.Host || info.Name != h.Name || info.Version != h.Version || info.Policy != h.Policy || !info.Tags.Equal(h.Tags) || !info.Created.Equal(h.Created) {
			t.Fatalf("got the header %+v, want %+v", info.Header, h)
		}
	})
}
