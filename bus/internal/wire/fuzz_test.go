// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tagbus/bus/internal/wire"
	"tagbus/bus/internal/wire/wiretest"
	"tagbus/tags"
)

// naivePage reads a page in the obvious way: field by field, with copies. It
// writes it again, too.
func naivePage(page []byte) (records []wiretest.Record, again []byte, ok bool) {
	in := bytes.NewReader(page)
	read := func(v any) bool { return binary.Read(in, binary.LittleEndian, v) == nil }
	var header struct {
		Kind, Flags uint8
		Lane        uint16
		Messages    uint32
	}
	if !read(&header) || header.Kind != 1 || header.Flags > 3 || header.Messages == 0 {
		return nil, nil, false
	}
	w := wire.Writer{Positions: header.Flags&1 != 0}
	w.Reset(make([]byte, len(page)+wire.MaxOverhead+wire.PositionBytes))
	var r wiretest.Record
	var position uint64
	for i := range header.Messages {
		var head uint32
		if !read(&head) {
			return nil, nil, false
		}
		r.Status = 0
		r.ID = wire.ID{}
		request := false
		if head>>30&1 == 1 {
			if !read(&r.Status) {
				return nil, nil, false
			}
			request = r.Status == 0
		}
		if head>>31 == 1 {
			before := r.Tag
			if !read(&r.Tag) || i > 0 && r.Tag == before {
				return nil, nil, false
			}
		} else if i == 0 {
			return nil, nil, false
		}
		if w.Positions && !read(&position) {
			return nil, nil, false
		}
		size := int64(head & 0x3fffffff)
		if size > int64(in.Len()) {
			return nil, nil, false
		}
		if request {
			if size -= 17; size < 0 || !read(&r.Status) || !read(&r.ID) || r.ID == (wire.ID{}) {
				return nil, nil, false
			}
		}
		data, err := io.ReadAll(io.LimitReader(in, size))
		if err != nil {
			return nil, nil, false
		}
		r.Data = string(data)
		records = append(records, r)
		wiretest.Append(&w, r, position)
	}
	again = wiretest.Sent(&w, header.Lane)
	again[1] |= header.Flags & 2 // an Ack is wanted
	return records, again, in.Len() == 0
}

// smallest is the smallest page of the bus.
const smallest = 256

func FuzzPage(f *testing.F) {
	f.Add(wiretest.Page(f, 1024, []wiretest.Record{rec(5, 0, "abc")}))
	f.Add(wiretest.Page(f, 1024, []wiretest.Record{rec(5, 0, "abc"), rec(5, 7, ""), rec(6, 8, "de"), rec(6, 0, "f"), rec(5, 0, "")}))
	f.Add(wiretest.Unhex(f, "01 00 0000 02000000 01000080 0500000000000000 61 01000080 0500000000000000 62"))
	f.Add(wiretest.Unhex(f, "01 03 0007 01000000 01000080 0500000000000000 0900000000000000 61"))
	f.Add(wiretest.Unhex(f, "01 00 0000 ffffffff ffffffff ff"))
	f.Add(wiretest.Unhex(f, "01 01 0200 02000000 01000080 0500000000000000 0700000000000000 61 01000000 1100000000000000 62"))
	f.Add(wiretest.Unhex(f, "01 00 0000 01000000 000000c0 00 0500000000000000"))
	f.Add(wiretest.Page(f, 1024, []wiretest.Record{rec(5, 0, "abc"), request(5, 0, "d", 1), request(5, 7, "", 2), rec(5, 0, "e"), request(6, 8, "f", 1)}))
	f.Add(wiretest.Unhex(f, "01 01 0200 01000000 120000c0 00 0500000000000000 0700000000000000 07 01020304050607080910111213141516 61"))
	f.Add(wiretest.Unhex(f, "01 00 0000 01000000 110000c0 00 0500000000000000 00 00000000000000000000000000000000"))
	f.Fuzz(func(t *testing.T, page []byte) {
		got, err := wiretest.Read(page)
		want, again, ok := naivePage(page)
		if (err == nil) != ok {
			t.Fatalf("%x: got %v, a naive reader accepts it: %v", page, err, ok)
		}
		var damage *wire.Error
		if err != nil {
			if !errors.As(err, &damage) || damage.Offset < 0 || damage.Offset > len(page) {
				t.Errorf("%x: got %v, want a *wire.Error within the page", page, err)
			}
			return
		}
		if !slices.Equal(got, want) {
			t.Errorf("%x: got %v, a naive reader reads %v", page, got, want)
		}
		// A page has one form only.
		if !bytes.Equal(again, page) {
			t.Errorf("%x is written as %x", page, again)
		}
	})
}

// Records returns messages of few tags, so that some follow one of theirs.
func records() *rapid.Generator[[]wiretest.Record] {
	return rapid.SliceOf(rapid.Custom(func(t *rapid.T) wiretest.Record {
		return wiretest.Record{
			Tag:    tags.Tag(rapid.SampledFrom([]uint64{0, 1, 0x1000013000118000, math.MaxUint64}).Draw(t, "tag")),
			Status: rapid.SampledFrom([]uint8{0, 0, 1, 255}).Draw(t, "status"),
			Data:   string(rapid.SliceOfN(rapid.Byte(), 0, smallest-wire.MaxOverhead-wire.RequestBytes).Draw(t, "data")),
			ID:     wire.ID{15: rapid.SampledFrom([]byte{0, 0, 1, 2}).Draw(t, "id")},
		}
	}))
}

func TestPagesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(smallest, 1024).Draw(t, "size")
		written := records().Draw(t, "records")
		var got []wiretest.Record
		var w wire.Writer
		seal := func() {
			page, err := wiretest.Read(wiretest.Sent(&w, 0))
			if err != nil || uint32(len(page)) != w.Messages || len(w.Mem) > size {
				t.Fatalf("page of %d bytes, %d messages: %d read, %v", len(w.Mem), w.Messages, len(page), err)
			}
			got = append(got, page...)
		}
		for _, r := range written {
			for w.Mem == nil || !wiretest.Append(&w, r, 0) {
				if w.Mem != nil {
					seal()
				}
				w.Reset(make([]byte, size))
			}
		}
		if w.Mem != nil {
			seal()
		}
		if !slices.Equal(got, written) {
			t.Fatalf("got %v, want %v", got, written)
		}
	})
}
