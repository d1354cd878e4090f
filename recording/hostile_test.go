// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"tagbus/recording"
)

// rawMessage is a plain message of series 0 with data of one byte.
var rawMessage = []byte{0, 1, 'x'}

func TestReader_namesContentThatContradictsTheFormat(t *testing.T) {
	good := rawBlock{table: rawTable(1, 1), body: rawMessage, messages: 1}
	withTable := func(table []byte) rawBlock { b := good; b.table = table; return b }
	withBody := func(body ...byte) rawBlock { b := good; b.body = body; return b }
	withEvent := func(event ...byte) rawBlock {
		return rawBlock{table: rawTable(0, 0), body: append([]byte{1<<2 | 3, byte(len(event))}, event...), events: 1}
	}
	change := func(f func(*rawBlock)) rawBlock { b := good; f(&b); return b }
	tests := []struct {
		name  string
		block rawBlock
		want  error
	}{
		{"more publishers than bytes", withTable(uvarints(nil, 1<<40)), recording.ErrMalformed},
		{"a publisher that ends early", withTable([]byte{1, 40, 'i', 0, 0, 0, 0, 0, 0, 0}), recording.ErrMalformed},
		{"an address that is none", withTable([]byte{1, 1, 'i', 0, 0, 0, 3, 1, 2, 3, 0}), recording.ErrMalformed},
		{"more series than bytes", withTable(uvarints(append([]byte{1}, rawPeer...), 1<<40)), recording.ErrMalformed},
		{"a series that ends early", withTable(append(append([]byte{1}, rawPeer...), 1, 0, 0x80, 0x80, 0x80, 0x80)), recording.ErrMalformed},
		{"a series of no publisher", withTable([]byte{0, 1, 0, 14, 1, 1, 1}), recording.ErrMalformed},
		{"a series with too many messages", withTable(rawTable(2, 1)), recording.ErrMalformed},
		{"series whose messages overflow", withTable(uvarints(append([]byte{1}, rawPeer...), 2, 0, 14, 1, 1<<64-1, 0, 0, 2, 1, 2, 0)), recording.ErrMalformed},
		{"series with too few messages", withTable(rawTable(0, 1)), recording.ErrMalformed},
		{"a number without end", withTable(bytes.Repeat([]byte{0xff}, 11)), recording.ErrMalformed},
		{"a message of no series", withBody(2, 1, 'x'), recording.ErrMalformed},
		{"a message with flags, of no series", withBody(1<<2|1, 0, 1, 'x'), recording.ErrMalformed},
		{"data that end early", withBody(0, 2, 'x'), recording.ErrMalformed},
		{"an id that ends early", withBody(1, 8, 1, 2, 3), recording.ErrMalformed},
		{"a time that ends early", withBody(1, 1, 0x80), recording.ErrMalformed},
		{"one message too many", withBody(0, 1, 'x', 0, 1, 'y'), recording.ErrMalformed},
		{"a record without number", withBody(0x80, 0x80, 0x80), recording.ErrMalformed},
		{"flags of a newer version", withBody(1, 16, 1, 'x'), recording.ErrVersion},
		{"an event beyond the end", rawBlock{table: rawTable(0, 0), body: []byte{1<<2 | 3, 9, 0, 0}, events: 1}, recording.ErrMalformed},
		{"an event of no publisher", withEvent(0, 1, 5), recording.ErrMalformed},
		{"an event that ends early", withEvent(0, 2, 5), recording.ErrMalformed},
		{"tags that end early", withEvent(0, 64, 9, 1), recording.ErrMalformed},
		{"tags that are none", withEvent(0, 64, 1, 9), recording.ErrMalformed},
		{"a codec of a newer version", change(func(b *rawBlock) { b.codec = 3 }), recording.ErrVersion},
		{"a body that is no S2", change(func(b *rawBlock) { b.codec, b.body = 1, []byte{3, 0xff, 0xff, 0xff} }), recording.ErrMalformed},
		{"a body that is no Zstandard", change(func(b *rawBlock) { b.codec = 2 }), recording.ErrMalformed},
		{"two sizes without codec", change(func(b *rawBlock) { b.decoded = 4 }), recording.ErrMalformed},
		{"more records than bytes", change(func(b *rawBlock) { b.events = 7 }), recording.ErrMalformed},
		{"an S2 body that says it is larger", change(func(b *rawBlock) { b.codec, b.decoded, b.body = 1, 3, uvarints(nil, 1<<31) }), recording.ErrMalformed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.block.number = 1
			last := good
			last.number = 2
			b := rawFile(0, nil, good, test.block, last)
			r := open(t, b)
			got, errs := read(recording.Readers{r}, recording.Query{})
			var damage *recording.DamageError
			if len(errs) != 1 || !errors.As(errs[0], &damage) || !errors.Is(damage, test.want) || damage.Block != 1 {
				t.Fatalf("got errors %v, want one of block 1: %v", errs, test.want)
			}
			if len(got) < 2 || got[0].data != "x" || got[len(got)-1].data != "x" {
				t.Errorf("got %v, want the messages of the other blocks", got)
			}
			if report, err := recording.Verify(r); err != nil || report.Whole() || report.Files[0].Broken != 1 {
				t.Errorf("got %v and error %v, want a broken block", report, err)
			}
		})
	}
}

func TestReader_doesNotUseAnIndexThatLies(t *testing.T) {
	good := rawBlock{table: rawTable(1, 1), body: rawMessage, messages: 1}
	b, seed := rawHeader(0, recording.ID{1}, 0, nil)
	begin := len(b)
	b = good.append(b, seed)
	tests := []struct {
		name    string
		blocks  []rawBlock
		offsets []int
	}{
		{"no block", nil, nil},
		{"a block before the first", []rawBlock{good}, []int{begin - 1}},
		{"a block behind the first", []rawBlock{good}, []int{begin + 1}},
		{"a block behind the last", []rawBlock{good, good}, []int{begin, len(b) - 1}},
		{"a block within a block header", []rawBlock{good, good}, []int{begin, begin + 5}},
		{"a block far away", []rawBlock{good, good}, []int{begin, math.MinInt / 8}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := open(t, rawEnd(bytes.Clone(b), seed, 0, test.blocks, test.offsets))
			if got := readAll(t, r); len(got) != 1 || r.Info().Indexed {
				t.Errorf("got %v, indexed %v; want a message by a walk", got, r.Info().Indexed)
			}
		})
	}
	t.Run("a block within another one", func(t *testing.T) {
		outer, inner := good, good
		inner.number = 1
		outer.table = inner.append(outer.table, seed)
		b := outer.append(b[:begin:begin], seed)
		inside := begin + 64 + len(rawTable(1, 1))
		r := open(t, rawEnd(b, seed, 0, []rawBlock{outer, inner}, []int{begin, inside}))
		if _, errs := read(recording.Readers{r}, recording.Query{}); len(errs) == 0 || !errors.Is(errs[0], recording.ErrMalformed) {
			t.Errorf("got %v, want %v", errs, recording.ErrMalformed)
		}
	})
	t.Run("another number of messages", func(t *testing.T) {
		lie := good
		lie.messages = 5
		r := open(t, rawEnd(bytes.Clone(b), seed, 0, []rawBlock{lie}, []int{begin}))
		if _, errs := read(recording.Readers{r}, recording.Query{}); len(errs) != 1 || !errors.Is(errs[0], recording.ErrMalformed) {
			t.Errorf("got %v, want %v", errs, recording.ErrMalformed)
		}
	})
}

func TestReader_passesOverWhatANewerVersionAdds(t *testing.T) {
	fields := append(uvarints(nil, 99, 3), "new"...)
	fields = append(append(fields, uvarints(nil, 2, 4)...), "host"...)
	table := append(rawTable(1, 1), "more"...)
	body := append(uvarints(nil, 77<<2|3, 5, 20), "new!"...) // an event of an unknown kind, at 10 ns
	body = append(body, 4<<2|3, 8, 0, 4, 9)                  // Lost, with a count
	body = append(body, "extra"...)
	body = append(body, rawMessage...)
	r := open(t, rawFile(200, fields, rawBlock{table: table, body: body, messages: 1, events: 2, last: 10}))
	if got := r.Info().Host; got != "host" {
		t.Errorf("got the host %q, want the one behind an unknown field", got)
	}
	want := []record{
		{ns: 10, kind: recording.Lost, counter: 9},
		{ns: 10, tag: 7, counter: 1, request: "none", data: "x"},
	}
	want[1].peer.Instance = "i"
	if got := readAll(t, r); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestNewReader_refusesOtherFiles(t *testing.T) {
	newer := rawFile(0, nil)
	newer[8] = 2
	long, _ := rawHeader(0, recording.ID{}, 0, nil)
	le.PutUint32(long[32:], 1<<31)
	le.PutUint32(long[40:], crc(0, long[:40]))
	tests := []struct {
		name  string
		bytes []byte
		want  error
	}{
		{"another file", []byte("\x89PNG\r\n\x1a\n and so on, and so on, and so on, and so on"), recording.ErrNotRecording},
		{"a short other file", []byte("x"), recording.ErrNotRecording},
		{"a newer major version", newer, recording.ErrVersion},
		{"a header that is too long", long, recording.ErrMalformed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := recording.NewReader(bytes.NewReader(test.bytes), int64(len(test.bytes)), recording.ReaderConfig{}); !errors.Is(err, test.want) {
				t.Errorf("got error %v, want %v", err, test.want)
			}
		})
	}
}

func TestReader_damagedFieldsOfTheHeaderCostNoMessage(t *testing.T) {
	good := rawBlock{table: rawTable(1, 1), body: rawMessage, messages: 1}
	for name, fields := range map[string][]byte{
		"a field that goes beyond the end": {2, 9, 'h'},
		"a time of three bytes":            {1, 3, 0, 0, 0},
		"tags that are none":               {5, 1, 9},
	} {
		r := open(t, rawFile(0, fields, good))
		if info := r.Info(); !errors.Is(info.HeaderDamage, recording.ErrMalformed) || info.ID != (recording.ID{1}) || len(readAll(t, r)) != 1 {
			t.Errorf("%s: got %+v, want the message and ErrMalformed", name, info)
		}
	}
}

// TestReader_memoryIsBoundedForHostileFiles: what they claim takes no memory.
func TestReader_memoryIsBoundedForHostileFiles(t *testing.T) {
	const limit = 1 << 20
	encoder, err := zstd.NewWriter(nil)
	must(t, err)
	bomb := encoder.EncodeAll(make([]byte, 64<<20), nil)
	many := rawBlock{table: uvarints(nil, 0, 100_000), body: rawMessage, messages: 1}
	for range 100_000 {
		many.table = append(many.table, 0, 0, 0, 0, 0)
	}
	tests := []struct {
		name  string
		block rawBlock
		want  error
	}{
		{"a compressed body that becomes larger than it says", rawBlock{table: rawTable(1, 1), body: bomb, decoded: limit, codec: 2, messages: 1}, recording.ErrMalformed},
		{"a compressed body that says how large it becomes", rawBlock{table: rawTable(1, 1), body: bomb, decoded: 64 << 20, codec: 2, messages: 1}, recording.ErrTooLarge},
		{"a body above the limit", rawBlock{table: rawTable(1, 1), body: make([]byte, limit+1), messages: 1}, recording.ErrTooLarge},
		{"a table above the limit", rawBlock{table: make([]byte, limit+1), body: rawMessage, messages: 1}, recording.ErrTooLarge},
		{"many series of no publisher", many, recording.ErrMalformed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := rawFile(0, nil, test.block)
			r, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), recording.ReaderConfig{MaxBlockBytes: limit})
			must(t, err)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, errs := read(recording.Readers{r}, recording.Query{})
			runtime.ReadMemStats(&after)
			if len(errs) != 1 || !errors.Is(errs[0], test.want) {
				t.Errorf("got errors %v, want %v", errs, test.want)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 8*limit {
				t.Errorf("got %d bytes allocated, want at most %d", got, 8*limit)
			}
		})
	}
}

func TestReader_remembersOnlySomePublishers(t *testing.T) {
	const many = 100_000
	table := uvarints(nil, many)
	for i := range uint64(many) {
		table = append(table, 8)
		table = le.AppendUint64(table, i)
		table = append(table, 0, 0, 0, 0)
	}
	long := uvarints(nil, 20)
	for i := range uint64(20) {
		long = append(uvarints(long, 1<<20), make([]byte, 1<<20-8)...)
		long = append(le.AppendUint64(long, i), 0, 0, 0, 0)
	}
	for name, table := range map[string][]byte{"many": table, "long": long} {
		r := open(t, rawFile(0, nil, rawBlock{table: append(table, 0), body: []byte{4<<2 | 3, 2, 0, 0}, events: 1}))
		readAll(t, r)
		if n, bytes := recording.Remembered(r); n == 0 || n > 1<<16 || bytes > 16<<20 {
			t.Errorf("%s: got %d publishers in %d bytes, want at most 65536 in 16 MiB", name, n, bytes)
		}
	}
}

// failing is a file that cannot be read from an offset on.
type failing struct {
	io.ReaderAt
	from int64
	err  error
}

// ReadAt implements io.ReaderAt.
func (f failing) ReadAt(b []byte, offset int64) (int, error) {
	if offset+int64(len(b)) > f.from {
		return 0, f.err
	}
	return f.ReaderAt.ReadAt(b, offset)
}

func TestReader_passesOnErrorsOfReading(t *testing.T) {
	s := smallFile(t, recording.None)
	bad := errors.New("bad sector")
	for _, at := range []int{0, 44, s.header, s.ends[0], len(s.bytes) - 1} {
		_, err := recording.NewReader(failing{bytes.NewReader(s.bytes), int64(at), bad}, int64(len(s.bytes)), recording.ReaderConfig{})
		if !errors.Is(err, bad) {
			t.Errorf("open, unreadable from %d: got error %v, want %v", at, err, bad)
		}
	}
	file := &failing{bytes.NewReader(s.bytes), int64(len(s.bytes)), bad}
	r, err := recording.NewReader(file, int64(len(s.bytes)), recording.ReaderConfig{})
	must(t, err)
	file.from = int64(s.ends[1])
	got, errs := read(recording.Readers{r}, recording.Query{})
	if len(errs) != len(s.ends)-2 || !errors.Is(errs[0], bad) || !slices.Equal(got, s.records[:s.counts[1]]) {
		t.Errorf("got %d records and errors %v, want two blocks and %v for each of the others", len(got), errs, bad)
	}
	series, err := r.Series()
	if !errors.Is(err, bad) || len(series) == 0 {
		t.Errorf("series: got %v and error %v, want those of two blocks and %v", series, err, bad)
	}
}

// TestAFileOfAnotherKindIsNamed, with what to do about it.
func TestAFileOfAnotherKindIsNamed(t *testing.T) {
	for _, test := range []struct{ begin, want string }{
		{"\x1f\x8b\x08", "not a recording: it is compressed with gzip: unpack it, for example with zcat"},
		{"\xd4\xc3\xb2\xa1" + strings.Repeat("\x00", 100), "not a recording: it is a capture: tagbus rec convert makes a recording of it"},
		{"\x0a\x0d\x0d\x0a" + strings.Repeat("\x00", 100), "tagbus rec convert"},
		{"\x89MCAP0\r\n" + strings.Repeat("\x00", 100), "an MCAP file"},
	} {
		_, err := recording.NewReader(strings.NewReader(test.begin), int64(len(test.begin)), recording.ReaderConfig{})
		if !errors.Is(err, recording.ErrNotRecording) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}
