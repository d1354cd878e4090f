package bus

import (
	"tagbus/internal/plain"
	"tagbus/subscription"
)

// refusal returns the message that refuses subscription id, or the whole connection if
// id is 0. A reason longer than a text of the protocol is cut, and says so.
func refusal(id uint64, reason error) *subscription.Refused {
	return &subscription.Refused{ID: id, Reason: plain.Cut(plain.Error(reason), subscription.MaxTextBytes)}
}
