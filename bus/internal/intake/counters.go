// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"sync/atomic"

	"tagbus/bus/internal/ledger"
	"tagbus/subscription"
)

// Counters count what comes of all publishers. The zero value has counted nothing.
//
// Threads: the loop, except Counts.
type Counters struct {
	messages, bytes, pages, unwanted, panics, superseded atomic.Uint64
	lost                                                 [subscription.AllCauses]atomic.Uint64
	lostAt                                               ledger.Times // of lost
}

// Counts are what has come, and what has not.
type Counts struct {
	Messages, Bytes uint64 // with a target, and their payload
	Pages           uint64
	Unwanted        uint64 // messages without a target
	Panics          uint64 // of handlers
	Superseded      uint64 // messages in full queues, with the policy Latest
	Lost            ledger.Counts
}

// Overflowed returns how many messages full queues have lost.
func (c *Counts) Overflowed() uint64 { return c.Lost[ledger.Queue] + c.Superseded }

// Page counts a page that has ended.
func (c *Counters) Page(p Page) {
	c.pages.Add(1)
	c.messages.Add(p.Messages)
	c.bytes.Add(p.Bytes)
	if p.Unwanted > 0 {
		c.unwanted.Add(p.Unwanted)
	}
}

// Panicked counts a handler that has panicked.
func (c *Counters) Panicked() { c.panics.Add(1) }

// Supersede counts a message that another one has superseded in a full queue.
func (c *Counters) Supersede() { c.superseded.Add(1) }

// Lose counts messages that are lost, between two seconds. There may be very many of all
// publishers: the count stops far below the largest number.
func (c *Counters) Lose(cause subscription.Cause, n uint64, from, to uint32) {
	const most = 1 << 60
	all := &c.lost[cause]
	all.Add(min(n, most-min(all.Load(), most)))
	c.lostAt.Span(cause, from, to)
}

// Counts returns what was counted. Threads: any.
func (c *Counters) Counts() Counts {
	all := Counts{
		Messages: c.messages.Load(), Bytes: c.bytes.Load(), Pages: c.pages.Load(),
		Unwanted: c.unwanted.Load(), Panics: c.panics.Load(), Superseded: c.superseded.Load(),
	}
	for cause := range all.Lost {
		all.Lost[cause] = c.lost[cause].Load()
	}
	return all
}

// LostAt returns when messages were lost. It changes with Lose.
func (c *Counters) LostAt() *ledger.Times { return &c.lostAt }
