package bus

import (
	"tagbus/bus/internal/ledger"
	"tagbus/subscription"
)

// lossesOf returns counts as users see them.
func lossesOf(c *ledger.Counts) Losses {
	return Losses{
		Full: c[subscription.CauseFull], Memory: c[subscription.CauseMemory],
		Connection: c[subscription.CauseConnection], Ended: c[ledger.Ended],
		LeftOut: c[subscription.CauseLeftOut],
	}
}

// Losses counts messages that a subscriber did not get, by reason. The errors named
// here are the causes of their Gap events.
type Losses struct {
	Full       uint64 // the subscription held all that it may: ErrTooSlow
	Memory     uint64 // the lossy subscriptions together did: ErrPublisherMemory
	Connection uint64 // under way or published when there was no connection: ErrConnectionLost
	Ended      uint64 // showed only at the publisher's end: ErrPublisherEnded; a publisher does not count it

	// LeftOut is what the policies Latest and Sample have left out on purpose:
	// ErrLeftOut.
	LeftOut uint64
}

// Lost returns the number of messages that are not left out on purpose.
func (l Losses) Lost() uint64 { return l.Full + l.Memory + l.Connection + l.Ended }

// gapCauses are the causes of Gap events.
var gapCauses = [ledger.Queue + 1]error{
	ledger.Ended:                 ErrPublisherEnded,
	subscription.CauseFull:       ErrTooSlow,
	subscription.CauseMemory:     ErrPublisherMemory,
	subscription.CauseLeftOut:    ErrLeftOut,
	subscription.CauseConnection: ErrConnectionLost,
	ledger.Queue:                 ErrQueueFull,
}
