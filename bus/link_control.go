package bus

import (
	"time"

	"tagbus/subscription"
)

// refuse sends the peer the reason of a refusal, instead of a hello. Loop only.
func (l *link) refuse(reason error) {
	b, err := subscription.Append(nil, refusal(0, reason))
	if err != nil {
		l.fail(err)
		return
	}
	l.leave(b, reason)
}

// leave closes the connection once a last message is sent, and reports the reason. Loop
// only.
func (l *link) leave(last []byte, reason error) {
	l.closeAfter(last, reason)
	l.event(Event{Kind: Refused, Peer: l.peer, Err: reason})
}

// closeAfter closes the connection once a last message is sent. Loop only.
func (l *link) closeAfter(last []byte, reason error) {
	l.state, l.fault, l.left = linkLeaving, reason, time.Now()
	l.out.SendLast(last)
}
