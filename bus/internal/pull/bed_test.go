// SPDX-License-Identifier: Apache-2.0

package pull

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tagbus/bus/internal/retain"
	"tagbus/bus/internal/wire"
	"tagbus/subscription"
	"tagbus/tags"
)

type (
	key     struct{ tag tags.Tag }
	message = Message[string]
)

// bed has a queue whose loop is the test.
type bed struct {
	loop     *turns
	retainer *retain.Retainer
	drained  int
	messages *Messages[key, string] // or
	batches  *Batches[key, string]
	lossy    bool
	memory   *memory
	pages    Pages
}

// newBed returns a bed with a queue.
//
//   - kind: "messages" or "batches", which may be "lossy ".
func newBed(kind string, limit, retainBytes int) *bed {
	b := &bed{loop: new(turns), retainer: retain.New(retainBytes), lossy: strings.HasPrefix(kind, "lossy "), memory: &memory{bytes: 10_000}}
	b.pages.Retain = b.memory.Retain
	cfg := Config{Loop: b.loop, Retainer: b.retainer, Limit: limit, Policy: subscription.DropOldest, Drained: func() { b.drained++ }}
	if strings.HasSuffix(kind, "batches") {
		b.batches = NewBatches[key, string](cfg, b.lossy)
	} else {
		b.messages = NewMessages[key, string](cfg)
	}
	return b
}

func (b *bed) reader() *Reader[string] {
	if b.batches != nil {
		return b.batches.Reader()
	}
	return b.messages.Reader()
}

// close closes the queue.
func (b *bed) close(err error) {
	if b.batches != nil {
		b.batches.Close(err)
	} else {
		b.messages.Close(err)
	}
}

// add adds a message of a page, or a run of messages that are like it.
func (b *bed) add(m message, run ...string) (full bool) {
	lost := func(key) { panic("a message is lost") }
	switch {
	case b.lossy && b.batches != nil:
		b.batches.PushLossy(key{m.Tag}, &m, lost)
	case b.lossy:
		b.messages.PushLossy(key{m.Tag}, &m, lost)
	case b.batches != nil && run != nil:
		b.batches.AddRun(&m, runOf(run), len(run))
	case b.batches != nil:
		b.batches.Add(&m)
	case run != nil:
		return b.messages.PushRun(&m, runOf(run), len(run))
	default:
		return b.messages.Push(&m)
	}
	return false
}

// page is add for a message of a page of its own.
func (b *bed) page(m message, run ...string) (full bool) {
	full = b.add(m, run...)
	if b.batches != nil && !b.lossy {
		return b.batches.Commit(&b.pages)
	}
	return full
}

// runOf returns plain messages as a page has them.
func runOf(all []string) (run []byte) {
	for _, data := range all {
		run = binary.LittleEndian.AppendUint32(run, uint32(len(data)))
		run = append(run, data...)
	}
	return run
}

// text is a message for comparisons.
func text(publisher string, tag tags.Tag, status uint8, counter uint64, data []byte, id wire.ID) string {
	return fmt.Sprintf("%s tag %v status %d number %d %q id %v", publisher, tag, status, counter, data, id[0])
}

// ready takes what the reader has ready.
func (b *bed) ready() (all []string) {
	r := b.reader()
	for {
		counter, data, ok := r.Take()
		if !ok {
			return all
		}
		all = append(all, text(r.Publisher, r.Tag, r.Status, counter, data, wire.ID(r.Origin.ID(r.Turn))))
	}
}

// texts returns the messages of a batch.
func texts(b *Batch[string]) (all []string) {
	for _, x := range b.Parts() {
		if !x.Run {
			all = append(all, text(b.Publisher(), x.Tag, x.Status, x.Counter, x.Data, x.ID))
			continue
		}
		at := 0
		for i := range x.Messages {
			data, next, _ := wire.Cut(x.Data, at)
			at = next
			all = append(all, text(b.Publisher(), x.Tag, x.Status, x.Counter+uint64(i), data, wire.ID{}))
		}
	}
	return all
}

// randomPage adds a page of random messages, which is overwritten afterwards, and returns them.
func (b *bed) randomPage(r *rand.Rand, numbers map[tags.Tag]uint64) (all []string) {
	publisher := fmt.Sprintf("publisher %d", r.IntN(2))
	var page [][]byte
	data := func() []byte {
		d := fmt.Appendf(make([]byte, 0, 400), "%d %s", r.Uint32(), strings.Repeat("x", r.IntN(300)))
		page = append(page, d)
		return d
	}
	for range 1 + r.IntN(20) {
		tag := tags.Tag(1 + r.IntN(3))
		m := message{Tag: tag, Counter: numbers[tag] + 1, Publisher: publisher}
		if !b.lossy && r.IntN(2) == 0 {
			var run []string
			for range 1 + r.IntN(10) {
				run = append(run, string(data()))
				numbers[tag]++
				all = append(all, text(publisher, tag, 0, numbers[tag], []byte(run[len(run)-1]), wire.ID{}))
			}
			b.add(m, run...)
			continue
		}
		m.Data, m.Status = data(), uint8(r.IntN(2))
		if r.IntN(4) == 0 {
			m.ID = wire.ID{byte(1 + r.IntN(200))}
		}
		numbers[tag]++
		b.add(m)
		all = append(all, text(publisher, tag, m.Status, m.Counter, m.Data, m.ID))
	}
	b.pages.last, b.memory = nil, &memory{bytes: 1 << 20} // too much to be kept: the page is copied
	b.pages.Retain = b.memory.Retain
	if b.batches != nil && !b.lossy {
		b.batches.Commit(&b.pages)
	}
	for _, d := range page {
		clear(d)
	}
	return all
}

// forEach runs a test with each kind of queue.
func forEach(t *testing.T, f func(t *testing.T, kind string)) {
	for _, kind := range []string{"messages", "lossy messages", "batches", "lossy batches"} {
		t.Run(kind, func(t *testing.T) { f(t, kind) })
	}
}
