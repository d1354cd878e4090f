// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/recording"
	"tagbus/tags"
)

// full is a disk with room for so many bytes.
type full struct {
	bytes.Buffer
	room int
}

var errFull = errors.New("no space left on device")

// Write implements io.Writer.
func (f *full) Write(b []byte) (int, error) {
	n := min(len(b), f.room)
	f.room -= n
	_, _ = f.Buffer.Write(b[:n])
	if n < len(b) {
		return n, errFull
	}
	return n, nil
}

// TestWriter_aDiskThatIsFullKeepsWhatIsWritten fills a disk at every byte.
func TestWriter_aDiskThatIsFullKeepsWhatIsWritten(t *testing.T) {
	records := numbered(24)
	size := len(file(t, recording.Header{Host: "h"}, recording.Config{BlockBytes: 256}, records...))
	for room := range size {
		disk := &full{room: room}
		w, err := recording.NewWriter(disk, recording.Header{Host: "h"}, recording.Config{BlockBytes: 256})
		for _, r := range records {
			if err == nil {
				err = w.Append(r.Time, &r.Message.Message)
			}
		}
		if err == nil {
			err = w.Close()
		}
		if !errors.Is(err, errFull) {
			t.Fatalf("room for %d bytes: got error %v, want %v", room, err, errFull)
		}
		if w != nil {
			if err := w.Close(); !errors.Is(err, errFull) {
				t.Fatalf("closed later: got error %v, want %v", err, errFull)
			}
		}
		got := readAll(t, open(t, disk.Bytes()))
		if !slices.Equal(got, forms(records[:len(got)]...)) {
			t.Fatalf("room for %d bytes: got %d records, want the first ones", room, len(got))
		}
	}
}

func TestWriter_Close_refusesWhatComesAfter(t *testing.T) {
	w, err := recording.NewWriter(new(bytes.Buffer), recording.Header{}, recording.Config{})
	must(t, err)
	must(t, w.Close())
	m := bus.Message{}
	for name, err := range map[string]error{
		"Append": w.Append(start, &m), "AppendPage": w.AppendPage(start, []bus.Message{m}), "AppendEvent": w.AppendEvent(recording.Event{Kind: recording.Stopped}),
		"Flush": w.Flush(), "Rotate": w.Rotate(new(bytes.Buffer)), "Close": w.Close(),
	} {
		if !errors.Is(err, recording.ErrClosed) {
			t.Errorf("%s: got error %v, want %v", name, err, recording.ErrClosed)
		}
	}
}

func TestNewWriter_configurationsAreChecked(t *testing.T) {
	for name, cfg := range map[string]recording.Config{
		"BlockBytes is 255, want 256 to 67108864":      {BlockBytes: 255},
		"BlockBytes is 67108865, want 256 to 67108864": {BlockBytes: 64<<20 + 1},
		"Codec is 3, want 0 to 2":                      {Codec: 3},
	} {
		_, errWriter := recording.NewWriter(new(bytes.Buffer), recording.Header{}, cfg)
		_, errBlocks := recording.NewBlockWriter(new(bytes.Buffer), recording.Header{}, cfg)
		_, errBuilder := recording.NewBuilder(cfg)
		for _, err := range []error{errWriter, errBlocks, errBuilder} {
			if !errors.Is(err, recording.ErrInvalidConfig) || !strings.Contains(err.Error(), name) {
				t.Errorf("got error %v, want %s", err, name)
			}
		}
	}
	if _, err := recording.NewReader(bytes.NewReader(nil), 0, recording.ReaderConfig{MaxBlockBytes: 1}); !errors.Is(err, recording.ErrInvalidConfig) {
		t.Errorf("got error %v, want %v", err, recording.ErrInvalidConfig)
	}
	long := recording.Header{Host: strings.Repeat("x", 17<<20)}
	if _, err := recording.NewWriter(new(bytes.Buffer), long, recording.Config{}); !errors.Is(err, recording.ErrInvalidConfig) {
		t.Errorf("a long header: got error %v, want %v", err, recording.ErrInvalidConfig)
	}
}

func TestWriter_AppendEvent_refusesAnEventOfNoKind(t *testing.T) {
	w, err := recording.NewWriter(new(bytes.Buffer), recording.Header{}, recording.Config{})
	must(t, err)
	for _, kind := range []recording.EventKind{0, recording.Stepped + 1} {
		if err := w.AppendEvent(recording.Event{Kind: kind}); !errors.Is(err, recording.ErrEvent) {
			t.Errorf("kind %d: got error %v, want %v", kind, err, recording.ErrEvent)
		}
	}
}

func TestBuilder_aBlockHasALimit(t *testing.T) {
	builder, err := recording.NewBuilder(recording.Config{})
	must(t, err)
	recording.SetRoom(builder, 1000)
	m := bus.Message{Tag: 1, Counter: 1, Data: make([]byte, 900)}
	must(t, builder.Append(start, &m))
	if err := builder.Append(start, &m); !errors.Is(err, recording.ErrBlockFull) {
		t.Errorf("a message: got error %v, want %v", err, recording.ErrBlockFull)
	}
	if err := builder.AppendPage(start, []bus.Message{m}); !errors.Is(err, recording.ErrBlockFull) {
		t.Errorf("a page: got error %v, want %v", err, recording.ErrBlockFull)
	}
	if err := builder.AppendEvent(recording.Event{Kind: recording.Lost, Text: string(m.Data)}); !errors.Is(err, recording.ErrBlockFull) {
		t.Errorf("an event: got error %v, want %v", err, recording.ErrBlockFull)
	}
	if got := builder.Seal(nil); got.Messages() != 1 || got.Bytes() < 900 || !builder.Empty() {
		t.Errorf("got %d messages in %d bytes, want the first one only", got.Messages(), got.Bytes())
	}
	must(t, builder.Append(start, &m))
}

// TestWriter_Rotate_inOnBlock begins a part after every second block, from OnBlock.
func TestWriter_Rotate_inOnBlock(t *testing.T) {
	var buffers []*bytes.Buffer
	next := func() *bytes.Buffer {
		buffers = append(buffers, new(bytes.Buffer))
		return buffers[len(buffers)-1]
	}
	var w *recording.Writer
	w, err := recording.NewWriter(next(), recording.Header{Name: "n"}, recording.Config{
		BlockBytes: 256,
		OnBlock: func(written recording.Written) error {
			if at := buffers[len(buffers)-1]; int(written.Bytes) != at.Len() || written != w.Written() {
				t.Errorf("got %+v, want %d bytes", written, at.Len())
			}
			if written.Blocks == 2 {
				return w.Rotate(next())
			}
			return nil
		},
	})
	must(t, err)
	all := numbered(100)
	write(t, w, all...)
	must(t, w.Close())
	if got := w.Header(); got.Name != "n" || int(got.Part) != len(buffers)-1 || got.ID == (recording.ID{}) {
		t.Errorf("got the header %+v, want that of part %d", got, len(buffers)-1)
	}
	var readers recording.Readers
	for _, b := range buffers {
		readers = append(readers, open(t, b.Bytes()))
	}
	report, err := recording.Verify(readers...)
	if must(t, err); !report.Whole() || len(readers) < 5 {
		t.Errorf("%d parts: got %v, want them whole", len(readers), report)
	}
	if got := readAll(t, readers...); !slices.Equal(got, forms(all...)) {
		t.Errorf("got %d records, want %d", len(got), len(all))
	}
}

func TestWriter_anErrorOfOnBlockEndsTheRecording(t *testing.T) {
	stop := errors.New("stop")
	w, err := recording.NewWriter(new(bytes.Buffer), recording.Header{}, recording.Config{OnBlock: func(recording.Written) error { return stop }})
	must(t, err)
	write(t, w, numbered(3)...)
	for _, f := range []func() error{w.Flush, w.Flush, w.Close} {
		if err := f(); !errors.Is(err, stop) {
			t.Errorf("got error %v, want %v", err, stop)
		}
	}
}

// TestBlockWriter_blocksAreWrittenByAnotherGoroutine records as a recorder does: with two blocks, of
// which one is filled while the other one is written.
func TestBlockWriter_blocksAreWrittenByAnotherGoroutine(t *testing.T) {
	cfg := recording.Config{BlockBytes: 512, Codec: recording.S2}
	builder, err := recording.NewBuilder(cfg)
	must(t, err)
	var file bytes.Buffer
	w, err := recording.NewBlockWriter(&file, recording.Header{}, cfg)
	must(t, err)
	toWrite, written := make(chan *recording.Block, 1), make(chan *recording.Block, 1)
	written <- new(recording.Block)
	done := make(chan error, 1)
	go func() {
		for block := range toWrite {
			if err := w.WriteBlock(block); err != nil {
				t.Error(err)
			}
			written <- block
		}
		done <- w.Close()
	}()
	all := numbered(500)
	for _, r := range all {
		must(t, builder.Append(r.Time, &r.Message.Message))
		if builder.Full() {
			toWrite <- builder.Seal(<-written)
		}
	}
	toWrite <- builder.Seal(<-written)
	close(toWrite)
	must(t, <-done)
	if got := readAll(t, open(t, file.Bytes())); !slices.Equal(got, forms(all...)) {
		t.Errorf("got %d records, want %d", len(got), len(all))
	}
}

func TestWriter_appendingAllocatesNothing(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	for _, codec := range codecs {
		w, err := recording.NewWriter(discard{}, recording.Header{}, recording.Config{BlockBytes: 20_000, Codec: codec})
		must(t, err)
		page := make([]bus.Message, 500)
		data := make([]byte, 40)
		at := start
		counter := uint64(0)
		round := func() {
			counter++
			at = at.Add(time.Millisecond)
			for i := range page {
				page[i] = bus.Message{Tag: tags.Tag(i % 250), Counter: 2*counter + uint64(i/250), Publisher: alice, Data: data}
			}
			must(t, w.AppendPage(at, page))
		}
		for range 100 { // the index grows
			round()
		}
		if got := testing.AllocsPerRun(100, round); got > 1 {
			t.Errorf("%v: got %v allocations for a page of 500 messages in a block, want at most that of the index", codec, got)
		}
	}
}

// discard drops what is written.
type discard struct{}

// Write implements io.Writer.
func (discard) Write(b []byte) (int, error) { return len(b), nil }

func TestWriter_whatDoesNotBecomeSmallerIsNotCompressed(t *testing.T) {
	noise := make([]byte, 1000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	m := message(0, alice, 1, 1, string(noise))
	want := len(file(t, recording.Header{}, recording.Config{}, m))
	for _, codec := range codecs {
		if got := len(file(t, recording.Header{}, recording.Config{Codec: codec}, m)); got != want {
			t.Errorf("%v: got a file of %d bytes, want %d", codec, got, want)
		}
	}
}

// TestWriter_oneLargeMessageDoesNotTakeMemoryForEver: a block that was large is given up.
func TestWriter_oneLargeMessageDoesNotTakeMemoryForEver(t *testing.T) {
	cfg := recording.Config{BlockBytes: 4096}
	builder, err := recording.NewBuilder(cfg)
	must(t, err)
	m := bus.Message{Counter: 1, Data: make([]byte, 8<<20)}
	must(t, builder.Append(start, &m))
	block := builder.Seal(nil)
	var file bytes.Buffer
	w, err := recording.NewBlockWriter(&file, recording.Header{}, cfg)
	must(t, err)
	must(t, w.WriteBlock(block))
	builder.Seal(block)
	if got := recording.Memory(block); got > 1<<20 {
		t.Errorf("got %d bytes kept, want those of a block", got)
	}
	must(t, w.Close())
	if got := readAll(t, open(t, file.Bytes())); len(got) != 1 || len(got[0].data) != len(m.Data) {
		t.Errorf("got %d records, want the message", len(got))
	}
}
