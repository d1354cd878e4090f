package bus

import (
	"tagbus/internal/plain"
	"tagbus/subscription"
)

// refusal is how a peer is told why it is refused, and the subscription id, or the
// whole connection if id is 0. A reason that is longer than a text of the protocol
// may be loses its end, and says so.
func refusal(id uint64, reason error) *subscription.Refused {
	return &subscription.Refused{ID: id, Reason: plain.Cut(plain.Error(reason), subscription.MaxTextBytes)}
}
