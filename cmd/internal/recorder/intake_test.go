// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recorder

import (
	"testing"

	"tagbus/bus"
	"tagbus/cmd/internal/tool/tooltest"
	"tagbus/internal/testkit"
	"tagbus/recording"
	"tagbus/tags"
)

// drive is a disk behind an intake that a test drives by hand.
type drive struct {
	*intake
	paused bool
}

func newDrive(t *testing.T, line string) *drive {
	t.Helper()
	in, err := newIntake(tooltest.MustRead[Command](t, line))
	testkit.Must(t, err)
	d := &drive{intake: in}
	in.pause, in.resume = func() { d.paused = true }, func() { d.paused = false }
	in.failed = func(err error) { t.Error(err) }
	return d
}

// write writes a block, as a disk would, and reports whether there was one.
func (d *drive) write(w *recording.BlockWriter) bool {
	select {
	case b := <-d.full:
		bytes := b.Bytes()
		if err := w.WriteBlock(b); err != nil {
			d.failed(err)
		}
		d.written(b, bytes, func(f func()) bool { f(); return true })
		return true
	default:
		return false
	}
}

// counter counts bytes.
type counter struct{ n int }

func (c *counter) Write(p []byte) (int, error) { c.n += len(p); return len(p), nil }

func TestAnIntakeAllocatesNothing(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates by itself")
	}
	d := newDrive(t, "5 x --queue-bytes 256KiB")
	w, err := recording.NewBlockWriter(new(counter), recording.Header{}, recording.Config{})
	testkit.Must(t, err)
	page := make([]bus.Message, 100)
	for i := range page {
		page[i] = bus.Message{Tag: tags.Tag(i % 7), Publisher: &bus.Peer{Instance: "a"}, Data: make([]byte, 400)}
	}
	counters := uint64(0)
	step := func() {
		for range 10 {
			counters++
			for i := range page {
				page[i].Publisher, page[i].Counter = page[0].Publisher, counters
			}
			d.page(page)
			d.write(w)
		}
	}
	step()
	if n := testing.AllocsPerRun(100, step); n > 0.5 { // the index of the file grows
		t.Errorf("got %v allocations for 1,000 messages, want none", n)
	}
	if d.messages.Load() < 100_000 || d.paused {
		t.Errorf("got %d messages, paused: %v, want all", d.messages.Load(), d.paused)
	}
}

// TestLargeMessagesTakeTheMemoryOfTheQueue, and not that of as many blocks.
func TestLargeMessagesTakeTheMemoryOfTheQueue(t *testing.T) {
	d := newDrive(t, "5 x --queue-bytes 8MiB")
	w, err := recording.NewBlockWriter(new(counter), recording.Header{}, recording.Config{})
	testkit.Must(t, err)
	large := []bus.Message{{Tag: 5, Publisher: new(bus.Peer), Data: make([]byte, 6<<20)}}
	taken := 0
	for ; !d.paused && taken < 100; taken++ {
		large[0].Counter++
		d.page(large)
	}
	if taken != 3 { // two on their way, and one in the builder
		t.Errorf("got %d messages of 6 MiB before the pause, want 3", taken)
	}
	for d.paused {
		if !d.write(w) {
			t.Fatal("it is paused, and there is nothing to write")
		}
	}
	large[0].Counter++
	d.page(large)
	if d.onWay.Load() > 13<<20 {
		t.Errorf("got %d bytes on their way, want two messages", d.onWay.Load())
	}
}
