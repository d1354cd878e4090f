// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"sync"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/emulate"
)

// receiver takes the messages: counts, checks and writes them. One goroutine or
// the loop calls take; the fields may be read once it has ended.
type receiver struct {
	limit    uint64            // 0: none
	verifier *emulate.Verifier // nil: none
	output   *output           // nil: none
	notice   func(string, ...any)

	mu              sync.Mutex // guards the next three if there is an output: only then are they read before the end
	messages, bytes uint64
	first           time.Time // when the first message was taken
	bad             int       // messages that failed the check
}

// maxBad is how many bad messages are described.
const maxBad = 10

// take takes one message, and reports whether it was the last one wanted.
func (r *receiver) take(m bus.Message) (last bool, err error) {
	last = r.count(len(m.Data))
	if r.verifier != nil {
		if err := r.verifier.Check(m); err != nil {
			if r.bad++; r.bad <= maxBad {
				r.notice("%v", err)
			}
		}
	}
	if r.output != nil {
		if err := r.output.write(m); err != nil {
			return false, err
		}
	}
	return last, nil
}

// count counts a message of so many bytes, and reports whether it was the last
// one wanted.
func (r *receiver) count(n int) (last bool) {
	if r.output != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
	}
	if r.messages == 0 {
		r.first = time.Now()
	}
	r.messages++
	r.bytes += uint64(n)
	return r.messages == r.limit
}

// counts returns what was taken so far, and since when.
func (r *receiver) counts() (messages, bytes uint64, first time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.messages, r.bytes, r.first
}
