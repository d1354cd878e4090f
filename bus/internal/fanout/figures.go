// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"slices"

	"tagbus/bus/internal/tagmap"
	"tagbus/tags"
)

// Figures are what is known of a tag of which there was a message.
type Figures struct {
	Number          int // of the tag among the known ones, which stays
	Tag             tags.Tag
	Messages, Bytes uint64 // accepted
	Last            uint32 // second in which the last one was accepted: package second
	Lanes           int    // that want it
}

const (
	figuresOfStream = 256  // are read while a stream cannot publish: some microseconds
	figuresAtOnce   = 1024 // are read with Mu held: less than a tenth of a millisecond
)

// figuresReader reads figures, under one hold of a stream's mutex if there are several of
// the same stream. Mu is held.
type figuresReader struct {
	stream *stream // locked, or nil
	left   int     // until others may publish
}

func (r *figuresReader) read(e *tagmap.Entry[tagState]) Figures {
	t := &e.Value
	route := t.route.Load() // stays, as Mu is held
	if s := route.streams[0]; s != r.stream || r.left == 0 {
		r.end()
		s.mu.Lock()
		r.stream, r.left = s, figuresOfStream
	}
	r.left--
	return Figures{Number: int(t.number), Tag: e.Tag, Messages: t.count, Bytes: t.bytes, Last: t.last, Lanes: len(route.lanes)}
}

func (r *figuresReader) end() {
	if r.stream != nil {
		r.stream.mu.Unlock()
		r.stream = nil
	}
}

// Figures calls f with the figures of known tags: up to n from a number on. f is called
// under locks. It returns how many there were.
func (fan *Fanout) Figures(from, n int, f func(Figures)) (read int) {
	for read < n {
		of := fan.someFigures(func(known []*tagmap.Entry[tagState]) []*tagmap.Entry[tagState] {
			known = known[min(from+read, len(known)):]
			return known[:min(n-read, figuresAtOnce, len(known))]
		}, f)
		if of == 0 {
			break
		}
		read += of
	}
	return read
}

// FiguresAt calls f with the figures of the known tags with some numbers, in their order.
// f is called under locks.
func (fan *Fanout) FiguresAt(numbers []int, f func(Figures)) {
	for part := range slices.Chunk(numbers, figuresAtOnce) {
		fan.someFigures(func(known []*tagmap.Entry[tagState]) (some []*tagmap.Entry[tagState]) {
			for _, number := range part {
				some = append(some, known[number])
			}
			return some
		}, f)
	}
}

// someFigures calls f with the figures of those that choose takes of the known tags. It
// returns how many these are.
func (fan *Fanout) someFigures(choose func(known []*tagmap.Entry[tagState]) []*tagmap.Entry[tagState], f func(Figures)) int {
	fan.Mu.Lock()
	defer fan.Mu.Unlock()
	var r figuresReader
	defer r.end()
	some := choose(fan.known)
	for _, e := range some {
		f(r.read(e))
	}
	return len(some)
}

// FiguresOf calls f with the figures of the known tags of a set, in any order, as long as
// it wants more. f is called under locks.
func (fan *Fanout) FiguresOf(set tags.Set, f func(Figures) (more bool)) {
	fan.Mu.Lock()
	w := fan.newWalk(set)
	fan.Mu.Unlock()
	for more, done := true, false; more && !done; {
		fan.Mu.Lock()
		var r figuresReader
		_, done = w.visit(figuresAtOnce, func(e *tagmap.Entry[tagState]) bool {
			if set.Contains(e.Tag) {
				more = f(r.read(e))
			}
			return more
		})
		r.end()
		fan.Mu.Unlock()
	}
}
