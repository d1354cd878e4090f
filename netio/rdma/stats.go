//go:build libfabric && cgo

package rdma

import (
	"sync/atomic"

	"tagbus/netio"
)

// counters are written in steps only, those of messages once per step and not
// per message.
type counters struct {
	accepted, opened, refused, closed atomic.Uint64
	acceptErrors, acceptShed          atomic.Uint64
	badMessages, truncated            atomic.Uint64
	messagesSent, bytesSent           atomic.Uint64
	messagesReceived, bytesReceived   atomic.Uint64
}

func (c *counters) load() netio.Stats {
	return netio.Stats{
		Accepted: c.accepted.Load(), Opened: c.opened.Load(), Refused: c.refused.Load(), Closed: c.closed.Load(),
		AcceptErrors: c.acceptErrors.Load(), AcceptShed: c.acceptShed.Load(),
		BadMessages: c.badMessages.Load(), Truncated: c.truncated.Load(),
		MessagesSent: c.messagesSent.Load(), BytesSent: c.bytesSent.Load(),
		MessagesReceived: c.messagesReceived.Load(), BytesReceived: c.bytesReceived.Load(),
	}
}
