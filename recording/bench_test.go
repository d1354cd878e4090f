// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/recording"
	"tagbus/tags"
)

// load is what a benchmark records: pages of messages, of which half of each is noise. One
// with 1,000 tags has runs of 8 messages of a tag. One with 100,000 has none, so that a
// block has as many series as messages.
type load struct{ bytes, tags int }

var loads = []load{{40, 1000}, {40, 100_000}, {1024, 1000}, {1024, 100_000}}

func (l load) String() string { return fmt.Sprintf("%dB/%d_tags", l.bytes, l.tags) }

const pageMessages = 500

// pages returns pages with the same number of messages of each tag.
func (l load) pages() (pages [][]bus.Message) {
	noise := make([]byte, 4<<20) // more than a block, so that none has the same twice
	source := rand.NewChaCha8([32]byte{})
	for i := 0; i+l.bytes <= len(noise); i += l.bytes {
		_, _ = source.Read(noise[i : i+l.bytes/2])
	}
	run, each := 1, 1
	if l.tags == 1000 {
		run, each = 8, 128
	}
	counters := make([]uint64, l.tags)
	for n := range each * l.tags {
		i := n / run * 7919 % l.tags
		counters[i]++
		at := n * l.bytes % (len(noise) - l.bytes) / l.bytes * l.bytes
		if n%pageMessages == 0 {
			pages = append(pages, make([]bus.Message, 0, pageMessages))
		}
		last := &pages[len(pages)-1]
		*last = append(*last, bus.Message{
			Tag: 0x1000_0000_0000_0000 + tags.Tag(i)<<16, Counter: counters[i], Publisher: alice, Data: noise[at : at+l.bytes],
		})
	}
	return pages
}

// again yields pages for ever. Their counters go on from round to round, which costs about
// a nanosecond a message.
func (l load) again() func() []bus.Message {
	pages := l.pages()
	each := uint64(len(pages) * pageMessages / l.tags)
	i := 0
	return func() []bus.Message {
		page := pages[i%len(pages)]
		if i >= len(pages) {
			for j := range page {
				page[j].Counter += each
			}
		}
		i++
		return page
	}
}

// BenchmarkAppend fills blocks and drops them: what the goroutine that receives pays for a
// message.
func BenchmarkAppend(b *testing.B) {
	for _, l := range loads {
		b.Run(l.String(), func(b *testing.B) {
			builder, err := recording.NewBuilder(recording.Config{})
			must(b, err)
			pages := l.again()
			spare := new(recording.Block)
			at := start
			b.SetBytes(int64(l.bytes))
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; {
				page := pages()
				at = at.Add(time.Microsecond)
				must(b, builder.AppendPage(at, page))
				if builder.Full() {
					sealed := builder.Seal(spare)
					recording.Empty(sealed)
					spare = sealed
				}
				n += len(page)
			}
		})
	}
}

// BenchmarkWrite records into nothing: what a message costs in all, with table, checksum
// and compression.
func BenchmarkWrite(b *testing.B) {
	for _, codec := range codecs {
		for _, l := range loads {
			b.Run(codec.String()+"/"+l.String(), func(b *testing.B) {
				w, err := recording.NewWriter(io.Discard, recording.Header{}, recording.Config{Codec: codec})
				must(b, err)
				pages := l.again()
				at := start
				b.SetBytes(int64(l.bytes))
				b.ReportAllocs()
				b.ResetTimer()
				n := 0
				for n < b.N {
					page := pages()
					at = at.Add(time.Microsecond)
					must(b, w.AppendPage(at, page))
					n += len(page)
				}
				must(b, w.Flush())
				b.StopTimer()
				b.ReportMetric(float64(w.Written().Bytes)/float64(n), "file-B/op")
			})
		}
	}
}

// BenchmarkRead reads all messages of a recording in memory.
func BenchmarkRead(b *testing.B) {
	for _, codec := range codecs {
		for _, l := range loads {
			b.Run(codec.String()+"/"+l.String(), func(b *testing.B) {
				var file bytes.Buffer
				w, err := recording.NewWriter(&file, recording.Header{}, recording.Config{Codec: codec})
				must(b, err)
				pages := l.again()
				for i := range 32 << 20 / (pageMessages * l.bytes) {
					must(b, w.AppendPage(start.Add(time.Duration(i)*time.Microsecond), pages()))
				}
				must(b, w.Close())
				r := open(b, file.Bytes())
				b.SetBytes(int64(l.bytes))
				b.ReportAllocs()
				b.ResetTimer()
				for n := 0; n < b.N; {
					for m, err := range r.Messages(recording.Query{}) {
						if err != nil || len(m.Data) != l.bytes {
							b.Fatal(err)
						}
						if n++; n == b.N {
							break
						}
					}
				}
			})
		}
	}
}
