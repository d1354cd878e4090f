package fanout

import (
	"errors"
	"fmt"

	"tagbus/netio"
)

// The errors that a user of the bus sees are described in package bus, which has them
// under the same names. They are returned as they are, not wrapped.
var (
	ErrNoResources     = fmt.Errorf("bus: not published: %w", netio.ErrNoResources)
	ErrClosed          = errors.New("bus: closed")
	ErrUnknownTag      = errors.New("tag is not one of the publisher's")
	ErrMessageTooLarge = errors.New("message too large")
	ErrTransport       = errors.New("bus: the transport reported a send that was not the next to complete: report this as a bug of the backend")
	ErrReceiverLost    = errors.New("connection to the receiver lost")
	ErrNotHandled      = errors.New("the receiver's handler has not handled it")

	// ErrControlOverflow is a fault of the peer.
	ErrControlOverflow = errors.New("the subscriber asks faster than it reads the answers")
)
