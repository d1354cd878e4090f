// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"tagbus/internal/testkit"
	"tagbus/recording"
)

// What a file costs is at most in proportion to its bytes, whatever they say: bytes that are
// allocated or decompressed are counted, and never time.

// compressed returns a block of events with a Zstandard body.
func compressed(tb testing.TB, body []byte, events, messages uint32, table []byte) rawBlock {
	tb.Helper()
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	must(tb, err)
	return rawBlock{table: table, body: e.EncodeAll(body, nil), decoded: len(body), codec: 2, events: events, messages: messages}
}

// tagEvents returns the records of n events of a kind, each of another tag, with a count of 1.
func tagEvents(kind recording.EventKind, n int) (b []byte) {
	for i := range n {
		b = append(b, byte(kind)<<2|3, 11, 0, 2|4) // a time, and flags: tag and count
		b = le.AppendUint64(b, uint64(i))
		b = append(b, 1)
	}
	return b
}

// allocated returns how many bytes f allocates.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// perByte is the most memory that reading takes for each byte of a file, beside fixed.
const perByte = 64

// TestVerify_tagsOfEventsAreBounded: a compressed block of a small file names millions of tags.
func TestVerify_tagsOfEventsAreBounded(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector takes memory, which is what is tested")
	}
	const n, followed = 40_000, 10_000
	b := rawFile(0, nil, compressed(t, append(tagEvents(recording.Gap, n), tagEvents(recording.Position, n)...), 2*n, 0, make([]byte, 2)))
	r := open(t, b)
	var report *recording.Report
	got := allocated(func() { report = recording.VerifyWithin(r, followed, followed) })
	t.Logf("%d bytes, %d allocated, %d series", len(b), got, len(report.Series))
	const each = 640 // of a tag that is followed, with what maps leave as they grow
	if want := each*followed + 2*27*n + 1<<20; got > int64(want) {
		t.Errorf("got %d bytes allocated, want at most %d", got, want)
	}
	if u := report.Untold; len(report.Series) != followed+1 || u.Gaps != n-followed || u.Positions != n-2*followed || report.Whole() {
		t.Errorf("got %d series and %+v, want %d and the others counted", len(report.Series), u, followed+1)
	}
	if lost := report.Total().Lost.Lost(); lost != n {
		t.Errorf("got %d lost, want all %d", lost, n)
	}
}

// TestReport_textsAreShort: a compressed block has texts of many MiB.
func TestReport_textsAreShort(t *testing.T) {
	long := strings.Repeat("it broke ", 100_000)
	b := file(t, recording.Header{}, recording.Config{Codec: recording.Zstd},
		event(0, recording.Event{Kind: recording.Ended, Peer: alice, Text: long}),
		event(1, recording.Event{Kind: recording.Ended, Peer: bob, Text: "short"}),
		event(2, recording.Event{Kind: recording.Stopped, Failed: true, Text: long}))
	report, err := recording.Verify(open(t, b))
	must(t, err)
	if p := report.Publishers; len(p) != 2 || len(p[0].Text) > 256 || !strings.HasPrefix(p[0].Text, "it broke ") || p[1].Text != "short" {
		t.Errorf("got publishers %.1000v, want short texts", p)
	}
	if s := report.Stopped; len(s.Text) > 4096 || !strings.HasPrefix(s.Text, "it broke ") || len(report.String()) > 16<<10 {
		t.Errorf("got a text of %d bytes in a report of %d, want it cut", len(s.Text), len(report.String()))
	}
}

// TestReader_Series_theirMemoryIsProportional: a table has a series in 5 bytes.
func TestReader_Series_theirMemoryIsProportional(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector takes memory, which is what is tested")
	}
	const n = 20_000
	table := uvarints(append([]byte{1}, rawPeer...), n)
	var body []byte
	for i := range n {
		table = append(table, 0, 2, 1, 1, 0) // the tag is one more than that before
		body = append(binary.AppendUvarint(body, uint64(i)<<1), 0)
	}
	b := rawFile(0, nil, compressed(t, body, 0, n, table))
	r := open(t, b)
	for name, f := range map[string]func(){
		"Verify": func() {
			report, err := recording.Verify(r)
			must(t, err)
			if len(report.Series) != n || !report.Whole() {
				t.Errorf("got %d series, want %d", len(report.Series), n)
			}
		},
		"Series": func() {
			series, err := r.Series()
			must(t, err)
			if len(series) != n {
				t.Errorf("got %d series, want %d", len(series), n)
			}
		},
	} {
		got := allocated(f)
		t.Logf("%s: %d bytes, %d MiB allocated, %.1f a byte", name, len(b), got>>20, float64(got)/float64(len(b)))
		if want := 2*perByte*int64(len(b)) + 8<<20; got > want { // also what slices leave as they grow
			t.Errorf("%s: got %d bytes allocated, want at most %d", name, got, want)
		}
	}
}

// TestReader_refusesBombs: blocks whose records are far more than their bytes are worth.
func TestReader_refusesBombs(t *testing.T) {
	const size, free = 4 << 20, 16 << 20
	data := binary.AppendUvarint([]byte{0}, size)
	data = append(data, make([]byte, size)...)
	block := compressed(t, data, 0, 1, rawTable(1, size))
	many := compressed(t, make([]byte, 1<<20), 0, 1<<19, rawTable(1<<19, 0)) // messages without data
	for name, block := range map[string]rawBlock{"bytes": block, "records": many} {
		var blocks []rawBlock
		for i := range 64 {
			block.number = uint32(i)
			blocks = append(blocks, block)
		}
		b := rawFile(0, nil, blocks...)
		r := open(t, b)
		recording.SetFree(r, free)
		work, refused := int64(0), 0
		for m, err := range r.Messages(recording.Query{}) {
			switch {
			case errors.Is(err, recording.ErrExpanded):
				refused++
			case err != nil:
				t.Fatalf("%s: got %v", name, err)
			default:
				work += int64(len(m.Data)) + 16
			}
		}
		if want := free + 4096*int64(len(b)) + size; work > want || refused == 0 {
			t.Errorf("%s: got %d bytes of work for %d bytes, and %d blocks refused; want at most %d", name, work, len(b), refused, want)
		}
	}
}

// TestReaders_Recorded_refusesBombs: the blocks of a file are worth its bytes together, and not each of
// them a GiB. What is not read has the times of its header.
func TestReaders_Recorded_refusesBombs(t *testing.T) {
	const blocks, length = 64, 2 * time.Minute
	block := compressed(t, make([]byte, 1<<20), 0, 1<<19, rawTable(1<<19, 0)) // messages without data, all at one time
	block.last = int64(length)
	var all []rawBlock
	for i := range blocks {
		block.number = uint32(i)
		all = append(all, block)
	}
	all = append(all, rawBlock{table: rawTable(1, 1), body: rawMessage, messages: 1, number: blocks, last: 1})
	b := rawFile(0, nil, all...)
	bodies := 0
	r, err := recording.NewReader(readerFunc(func(to []byte, offset int64) (int, error) {
		if len(to) == len(block.body) {
			bodies++
		}
		return bytes.NewReader(b).ReadAt(to, offset)
	}), int64(len(b)), recording.ReaderConfig{})
	must(t, err)
	recording.SetFree(r, 16<<20)
	got, _ := recording.Readers{r}.Recorded()
	if bodies == 0 || bodies > blocks/4 || got < length {
		t.Errorf("got %v after %d blocks of %d were read, want at least %v after a few", got, bodies, blocks, length)
	}
}

// readerFunc is a file that a function reads.
type readerFunc func(to []byte, offset int64) (int, error)

// ReadAt implements io.ReaderAt.
func (f readerFunc) ReadAt(to []byte, offset int64) (int, error) { return f(to, offset) }

// TestWriter_whatIsWrittenIsNoBomb: recordings of nothing but zeros, which compress to next to
// nothing, are within the limit of readers.
func TestWriter_whatIsWrittenIsNoBomb(t *testing.T) {
	for _, codec := range []recording.Codec{recording.S2, recording.Zstd} {
		for _, bytes := range []string{"", string(make([]byte, 1<<16))} {
			var all []recording.Record
			for i := range uint64(60) {
				for range 1 + 200*(1-min(len(bytes), 1)) {
					all = append(all, message(0, alice, 1, i+1, bytes))
				}
			}
			b := file(t, recording.Header{}, recording.Config{Codec: codec, BlockBytes: 8 << 20}, all...)
			r := open(t, b)
			recording.SetFree(r, 0)
			if got := readAll(t, r); len(got) != len(all) {
				t.Errorf("%v, messages of %d bytes: got %d, want %d", codec, len(bytes), len(got), len(all))
			}
		}
	}
}

// counted counts what is read of a file.
type counted struct {
	io.ReaderAt
	bytes int64
}

// ReadAt implements io.ReaderAt.
func (c *counted) ReadAt(b []byte, offset int64) (int, error) {
	c.bytes += int64(len(b))
	return c.ReaderAt.ReadAt(b, offset)
}

// TestReader_aWalkReadsAFileFewTimes: whatever is damaged.
func TestReader_aWalkReadsAFileFewTimes(t *testing.T) {
	good := rawBlock{table: rawTable(1, 1), body: rawMessage, messages: 1}
	head, seed := rawHeader(0, recording.ID{1}, 0, nil)
	var alternating, headers []byte
	for i := range 20_000 {
		good.number = uint32(i)
		at := len(alternating)
		alternating = good.append(alternating, seed)
		if i%2 == 0 {
			alternating[at+10]++ // of the header
		}
		headers = append(headers, "TBRb"...)
	}
	broken := bytes.Repeat([]byte{1}, len(head))
	broken = append(broken[:0], head...)
	for i := range 20_000 {
		good.number = uint32(i)
		broken = good.append(broken, seed)
		broken[len(broken)-1]++ // of the body
	}
	for name, b := range map[string][]byte{
		"every second header is damaged": append(bytes.Clone(head), alternating...),
		"many magics":                    append(bytes.Clone(head), bytes.Repeat(headers, 8)...),
		"every body is damaged":          broken,
	} {
		c := &counted{ReaderAt: bytes.NewReader(b)}
		_, err := recording.NewReader(c, int64(len(b)), recording.ReaderConfig{})
		must(t, err)
		if want := 3*int64(len(b)) + 1<<16; c.bytes > want {
			t.Errorf("%s: got %d bytes read of %d, want at most %d", name, c.bytes, len(b), want)
		}
	}
}
