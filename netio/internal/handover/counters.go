// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"sync/atomic"

	"tagbus/netio"
)

// Counters are written in steps; those of messages once per step, not once per message.
// CountDirect is for other goroutines. Threads: CountDirect and Load may be called by any.
type Counters struct {
	Accepted, Opened, Refused, Closed atomic.Uint64
	AcceptErrors, AcceptShed          atomic.Uint64
	BadMessages, Truncated            atomic.Uint64
	MessagesSent, BytesSent           atomic.Uint64
	MessagesReceived, BytesReceived   atomic.Uint64
	messagesDirect                    atomic.Uint64
}

// CountDirect counts a message that the goroutine of its sender has handed over.
func (c *Counters) CountDirect(bytes int) {
	c.MessagesSent.Add(1)
	c.BytesSent.Add(uint64(bytes))
	c.messagesDirect.Add(1)
}

// Load returns the counts. They are read one after the other, not all at once.
func (c *Counters) Load() netio.Stats {
	return netio.Stats{
		Accepted: c.Accepted.Load(), Opened: c.Opened.Load(), Refused: c.Refused.Load(), Closed: c.Closed.Load(),
		AcceptErrors: c.AcceptErrors.Load(), AcceptShed: c.AcceptShed.Load(),
		BadMessages: c.BadMessages.Load(), Truncated: c.Truncated.Load(),
		MessagesSent: c.MessagesSent.Load(), BytesSent: c.BytesSent.Load(),
		MessagesReceived: c.MessagesReceived.Load(), BytesReceived: c.BytesReceived.Load(),
		MessagesDirect: c.messagesDirect.Load(),
	}
}
