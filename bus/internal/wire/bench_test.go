// SPDX-License-Identifier: Apache-2.0

package wire_test

import (
	"fmt"
	"testing"

	"tagbus/bus/internal/wire"
	"tagbus/bus/internal/wire/wiretest"
	"tagbus/internal/testkit"
	"tagbus/tags"
)

func TestPagesAreWrittenAndReadWithoutAllocation(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector allocates")
	}
	var w wire.Writer
	var r wire.Reader
	var header [wire.HeaderBytes]byte
	mem, page, data := make([]byte, 4096), make([]byte, 4096), make([]byte, 40)
	n := testing.AllocsPerRun(100, func() {
		w.Reset(mem)
		for i := 0; w.Append(tags.Tag(i/3), wire.Status(i&1), 0, data); i++ {
		}
		wire.PutHeader(&header, 1, false, false, w.Messages)
		page = append(append(page[:0], header[:]...), w.Mem...)
		if err := r.Reset(wire.Split(page)); err != nil {
			t.Fatal(err)
		}
		for more := true; more; {
			var err error
			if more, err = r.Next(); err != nil {
				t.Fatal(err)
			}
		}
	})
	if n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

// pageBytes is the default of the bus.
const pageBytes = 2 * 65450

// BenchmarkPageAppend is the cost of one message into pages of the default size.
func BenchmarkPageAppend(b *testing.B) {
	for _, size := range []int{40, 256, 1024} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			var w wire.Writer
			mem, data := make([]byte, pageBytes), make([]byte, size)
			w.Reset(mem)
			tag := tags.Tag(0x1000013000118000)
			for b.Loop() {
				if !w.Append(tag, 0, 0, data) {
					w.Reset(mem)
					tag ^= 1 << 16
				}
			}
		})
	}
}

// BenchmarkPageNext is the cost of reading one message; in pages=one-tag only
// the first of a page has a tag, in pages=new-tags all have.
func BenchmarkPageNext(b *testing.B) {
	for _, size := range []int{40, 256, 1024} {
		for _, step := range []tags.Tag{0, 1} {
			name := fmt.Sprintf("size=%d/pages=%s", size, []string{"one-tag", "new-tags"}[step])
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(size))
				var w wire.Writer
				w.Reset(make([]byte, pageBytes))
				for tag := tags.Tag(0); w.Append(tag, 0, 0, make([]byte, size)); tag += step {
				}
				page := wiretest.Sent(&w, 0)
				var r wire.Reader
				for b.Loop() {
					if ok, err := r.Next(); !ok {
						if err != nil {
							b.Fatal(err)
						}
						if err := r.Reset(wire.Split(page)); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}
