package bus

import (
	"fmt"
	"testing"

	"tagbus/tags"
)

func TestPagesAreWrittenAndReadWithoutAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	var w pageWriter
	var r pageReader
	var header [pageHeaderBytes]byte
	mem, page, data := make([]byte, 4096), make([]byte, 4096), make([]byte, 40)
	n := testing.AllocsPerRun(100, func() {
		w.reset(mem)
		for i := 0; w.append(tags.Tag(i/3), Status(i&1), 0, data); i++ {
		}
		putPageHeader(&header, 1, false, w.messages)
		page = append(append(page[:0], header[:]...), w.mem...)
		if err := r.reset(page); err != nil {
			t.Fatal(err)
		}
		for more := true; more; {
			var err error
			if more, err = r.next(); err != nil {
				t.Fatal(err)
			}
		}
	})
	if n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}

// BenchmarkPageAppend is the cost of one message into pages of the default size.
func BenchmarkPageAppend(b *testing.B) {
	for _, size := range []int{40, 256, 1024} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			var w pageWriter
			mem, data := make([]byte, defaultPageBytes), make([]byte, size)
			w.reset(mem)
			tag := tags.Tag(0x1000013000118000)
			for b.Loop() {
				if !w.append(tag, 0, 0, data) {
					w.reset(mem)
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
				var w pageWriter
				w.reset(make([]byte, defaultPageBytes))
				for tag := tags.Tag(0); w.append(tag, 0, 0, make([]byte, size)); tag += step {
				}
				page := whole(&w, 0)
				var r pageReader
				for b.Loop() {
					if ok, err := r.next(); !ok {
						if err != nil {
							b.Fatal(err)
						}
						if err := r.reset(page); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}
