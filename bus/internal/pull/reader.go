// SPDX-License-Identifier: Apache-2.0

package pull

import (
	"context"

	"tagbus/bus/internal/retain"
	"tagbus/bus/internal/wire"
	"tagbus/tags"
)

// Head is a message without what differs within a run of plain ones: counter and data.
type Head[P any] struct {
	Tag       tags.Tag
	Status    uint8
	Turn      uint32 // of Origin
	Publisher P
	Origin    *retain.Origin // of the memory of the message
}

// Reader takes the messages of a queue one by one, in order.
//
// Threads: one goroutine at a time.
type Reader[P any] struct {
	Head[P] // of the message that Take has returned last

	queue   source[P]
	counter uint64
	run     []byte // plain messages
	at      int    // where the next of them begins
	left    int    // how many of them there are
}

// source is a queue as its Reader has it.
type source[P any] interface {
	// next takes the next message that is ready, or a run of so many plain ones, and sets the Head of r.
	next(r *Reader[P]) (run int, counter uint64, data []byte, ok bool)

	// wait waits for messages and makes them ready. Those of before are over.
	wait(ctx context.Context) error
}

// Take takes the next message that is ready. Its data is valid until Wait.
func (r *Reader[P]) Take() (counter uint64, data []byte, ok bool) {
	// Its publisher may have changed a run between the count and the copy: the count holds.
	if data, next, more := wire.Cut(r.run, r.at); more && r.left > 0 {
		r.at = next
		r.counter++
		r.left--
		return r.counter, data, true
	}
	run, counter, data, ok := r.queue.next(r)
	if r.left = 0; run > 0 {
		r.run, r.counter, r.left = data, counter, run-1
		data, r.at, _ = wire.Cut(data, 0)
	}
	return counter, data, ok
}

// Wait waits until Take has a message, after it had none.
//
//   - Errors: the reason why the queue was closed, or ErrEnd; the cause of the end of ctx. The
//     messages of before come first.
func (r *Reader[P]) Wait(ctx context.Context) error {
	r.Head, r.run, r.at = Head[P]{}, nil, 0 // drop the pointers
	return r.queue.wait(ctx)
}
