package bus

import (
	"fmt"

	"tagbus/bus/internal/ring"
)

const (
	// mostAnswers is how many bytes may wait to be sent to a publisher. With more, this
	// side stops reading from it. The answers to one message may exceed the limit.
	mostAnswers = 256 << 10

	answerCost = 64 // of a message beyond its bytes
)

var errAnswersUnread = fmt.Errorf("%w: the publisher asks faster than it reads the answers", ErrProtocol)

// push queues a control message. If a publisher does not read the answers, this side
// stops reading from it, so that the publisher's own socket slows it.
func (src *source) push(b []byte) {
	src.out.Push(b)
	src.outBytes += len(b) + answerCost
	if src.outBytes > mostAnswers && !src.unread {
		src.unread, src.moved = true, true
		src.pause()
	}
}

// popped notes that a message was given to the endpoint.
func (src *source) popped(b []byte) {
	src.outBytes -= len(b) + answerCost
	if src.outBytes <= mostAnswers/2 {
		src.readOn()
	}
}

// dropOut forgets the waiting messages, with the connection.
func (src *source) dropOut() {
	src.out, src.outBytes = ring.Ring[[]byte]{}, 0
	src.readOn()
}

func (src *source) readOn() {
	if src.unread {
		src.unread = false
		src.resume()
	}
}

// excused reports whether the publisher's silence means nothing because this side does
// not read. A publisher with waiting answers is excused only as long as it takes some.
func (src *source) excused() bool {
	moved := src.moved
	src.moved = false
	return src.pausing > 0 && (!src.unread || moved)
}
