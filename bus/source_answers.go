package bus

import (
	"fmt"

	"tagbus/bus/internal/ring"
)

const (
	// mostAnswers is how many bytes may wait to be sent to a publisher before this
	// side stops reading from it. The answers to one message may exceed it.
	mostAnswers = 256 << 10

	answerCost = 64 // of a message beyond its bytes
)

var errAnswersUnread = fmt.Errorf("%w: the publisher asks faster than it reads the answers", ErrProtocol)

// push queues a control message. This side stops reading from a publisher that does
// not read the answers, so that the publisher's own socket holds it up.
func (src *source) push(b []byte) {
	src.out.Push(b)
	src.outBytes += len(b) + answerCost
	if src.outBytes > mostAnswers && !src.unread {
		src.unread, src.moved = true, true
		src.pause()
	}
}

// popped notes that a message has been given to the endpoint.
func (src *source) popped(b []byte) {
	src.outBytes -= len(b) + answerCost
	if src.outBytes <= mostAnswers/2 {
		src.readOn()
	}
}

// dropOut forgets what waits, with the connection.
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

// excused reports whether the publisher's silence means nothing, because this side
// does not read. If answers wait that the publisher does not take, it is excused only
// as long as it takes some.
func (src *source) excused() bool {
	moved := src.moved
	src.moved = false
	return src.pausing > 0 && (!src.unread || moved)
}
