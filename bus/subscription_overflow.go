package bus

import (
	"tagbus/bus/internal/ledger"
	"tagbus/tags"
)

// Overflowed returns how many messages the subscription has received and lost again.
// That happens without a handler, with a policy that may lose messages, when
// SubscriberConfig.QueueBytes wait for Messages. Gap events with ErrQueueFull name
// them. Threads: any.
func (sub *Subscription) Overflowed() uint64 { return sub.overflowed.Load() }

// overflows counts and reports a message that the queue has lost. Loop only.
func (sub *Subscription) overflows(src *source, tag tags.Tag) {
	sub.overflowed.Add(1)
	src.sub.counters.lost[ledger.Queue].Add(1)
	rcv := src.lane(sub.lane).received.Get(tag)
	if rcv == nil {
		rcv = new(received) // forgotten meanwhile, but the event is still due
	}
	rcv.tally.Overflow(1)
	src.gap(rcv, tag, ledger.Queue, 1)
}
