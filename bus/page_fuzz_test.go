package bus

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tagbus/tags"
)

// naivePage reads a page in the obvious way: field by field, with copies. It
// writes it again, too.
func naivePage(page []byte) (records []testRecord, again []byte, ok bool) {
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
	w := pageWriter{positions: header.Flags&positionsFlag != 0}
	w.reset(make([]byte, len(page)+maxRecordOverhead+positionBytes))
	var r testRecord
	var position uint64
	for i := range header.Messages {
		var head uint32
		if !read(&head) {
			return nil, nil, false
		}
		r.Status = 0
		if head>>30&1 == 1 && (!read(&r.Status) || r.Status == 0) {
			return nil, nil, false
		}
		if head>>31 == 1 {
			before := r.Tag
			if !read(&r.Tag) || i > 0 && r.Tag == before {
				return nil, nil, false
			}
		} else if i == 0 {
			return nil, nil, false
		}
		if w.positions && !read(&position) {
			return nil, nil, false
		}
		size := int64(head & 0x3fffffff)
		if size > int64(in.Len()) {
			return nil, nil, false
		}
		data, err := io.ReadAll(io.LimitReader(in, size))
		if err != nil {
			return nil, nil, false
		}
		r.Data = string(data)
		records = append(records, r)
		w.append(r.Tag, r.Status, position, data)
	}
	again = whole(&w, header.Lane)
	again[1] |= header.Flags & ackFlag // which the link adds
	return records, again, in.Len() == 0
}

func FuzzPage(f *testing.F) {
	f.Add(writePage(f, 1024, []testRecord{{5, 0, "abc"}}))
	f.Add(writePage(f, 1024, []testRecord{{5, 0, "abc"}, {5, 7, ""}, {6, 8, "de"}, {6, 0, "f"}, {5, 0, ""}}))
	f.Add(unhex(f, "01 00 0000 02000000 01000080 0500000000000000 61 01000080 0500000000000000 62"))
	f.Add(unhex(f, "01 03 0007 01000000 01000080 0500000000000000 0900000000000000 61"))
	f.Add(unhex(f, "01 00 0000 ffffffff ffffffff ff"))
	f.Add(unhex(f, "01 01 0200 02000000 01000080 0500000000000000 0700000000000000 61 01000000 1100000000000000 62"))
	f.Add(unhex(f, "01 00 0000 01000000 000000c0 00 0500000000000000"))
	f.Fuzz(func(t *testing.T, page []byte) {
		got, err := readPage(page)
		want, again, ok := naivePage(page)
		if (err == nil) != ok {
			t.Fatalf("%x: got %v, a naive reader accepts it: %v", page, err, ok)
		}
		var damage *PageError
		if err != nil {
			if !errors.As(err, &damage) || damage.Offset < 0 || damage.Offset > len(page) {
				t.Errorf("%x: got %v, want a *PageError within the page", page, err)
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

// recordGenerator returns messages of few tags, so that some follow one of theirs.
func recordGenerator() *rapid.Generator[[]testRecord] {
	return rapid.SliceOf(rapid.Custom(func(t *rapid.T) testRecord {
		return testRecord{
			Tag:    tags.Tag(rapid.SampledFrom([]uint64{0, 1, 0x1000013000118000, math.MaxUint64}).Draw(t, "tag")),
			Status: Status(rapid.SampledFrom([]uint8{0, 0, 1, 255}).Draw(t, "status")),
			Data:   string(rapid.SliceOfN(rapid.Byte(), 0, minPageBytes-pageHeaderBytes-maxRecordOverhead).Draw(t, "data")),
		}
	}))
}

// A run of messages makes the page that the messages make one by one, and goes no
// further than it is allowed to.
func TestARunMakesTheSamePage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(minPageBytes, 2048).Draw(t, "size")
		records := recordGenerator().Draw(t, "records")
		messages := make([]Message, len(records))
		for i, r := range records {
			messages[i] = Message{Tag: r.Tag, Status: r.Status, Data: []byte(r.Data)}
		}
		limit, budget := rapid.IntRange(0, 250).Draw(t, "limit"), rapid.IntRange(0, 1000).Draw(t, "budget")
		var runs, single pageWriter
		runs.positions = rapid.Bool().Draw(t, "positions")
		single.positions = runs.positions
		runs.reset(make([]byte, size))
		single.reset(make([]byte, size))
		for i := 0; i < len(messages); {
			before := len(runs.mem)
			n, sizes := runs.appendRun(messages[i:], limit, budget)
			if grown := len(runs.mem) - before; grown != sizes+n*plainBytes || grown > budget+limit+plainBytes {
				t.Fatalf("%d messages of %d bytes with a budget of %d: the page grows by %d", n, sizes, budget, grown)
			}
			for _, m := range messages[i : i+n] {
				if len(m.Data) > limit || !single.append(m.Tag, m.Status, 0, m.Data) {
					t.Fatalf("a run has a message of %d bytes: the limit is %d, and the page full at %d", len(m.Data), limit, len(single.mem))
				}
			}
			if i += n; i == len(messages) {
				break
			}
			m := messages[i]
			if !runs.append(m.Tag, m.Status, 0, m.Data) {
				break
			}
			single.append(m.Tag, m.Status, 0, m.Data)
			i++
		}
		if !bytes.Equal(whole(&runs, 0), whole(&single, 0)) {
			t.Errorf("got page %x, want %x", whole(&runs, 0), whole(&single, 0))
		}
	})
}

func TestPagesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(minPageBytes, 1024).Draw(t, "size")
		records := recordGenerator().Draw(t, "records")
		var got []testRecord
		var w pageWriter
		seal := func() {
			page, err := readPage(whole(&w, 0))
			if err != nil || uint32(len(page)) != w.messages || len(whole(&w, 0)) > size {
				t.Fatalf("page of %d bytes, %d messages: %d read, %v", len(w.mem), w.messages, len(page), err)
			}
			got = append(got, page...)
		}
		for _, r := range records {
			for w.mem == nil || !w.append(r.Tag, r.Status, 0, []byte(r.Data)) {
				if w.mem != nil {
					seal()
				}
				w.reset(make([]byte, size))
			}
		}
		if w.mem != nil {
			seal()
		}
		if !slices.Equal(got, records) {
			t.Fatalf("got %v, want %v", got, records)
		}
	})
}
