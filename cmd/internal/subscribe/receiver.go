package subscribe

import (
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/emulate"
)

// receiver takes the messages: counts, checks and writes them. One goroutine or
// the loop calls take; the fields are for those who know that it has ended.
type receiver struct {
	limit    uint64            // 0: none
	verifier *emulate.Verifier // nil: none
	output   *output           // nil: none
	notice   func(string, ...any)

	messages, bytes uint64
	first           time.Time // when the first message was taken
	bad             int       // messages that failed the check
}

// maxBad is how many bad messages are described.
const maxBad = 10

// take takes one message, and tells whether it was the last one wanted.
func (r *receiver) take(m bus.Message) (last bool, err error) {
	if r.messages == 0 {
		r.first = time.Now()
	}
	r.messages++
	r.bytes += uint64(len(m.Data))
	if r.verifier != nil {
		if err := r.verifier.Check(m); err != nil {
			if r.bad++; r.bad <= maxBad {
				r.notice("%v", err)
			}
		}
	}
	if r.output != nil {
		if err := r.output.write(m.Data); err != nil {
			return false, err
		}
	}
	return r.messages == r.limit, nil
}
