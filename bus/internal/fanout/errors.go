package fanout

import "errors"

// The errors are returned as they are, not wrapped, since some of them are frequent. A
// user of the bus gets others for them, which say what to do.
var (
	// ErrNoRoom is returned for a message for which a lossless lane, or the pool, has no
	// room. The same call may succeed later.
	ErrNoRoom = errors.New("no room")

	// ErrStopped is returned after Stop.
	ErrStopped = errors.New("stopped")

	// ErrUnknownTag is returned for a tag that is not served.
	ErrUnknownTag = errors.New("unknown tag")

	// ErrTooLarge is returned for a message above Config.MaxMessageBytes.
	ErrTooLarge = errors.New("too large")

	// ErrLost is the outcome of a receipt if the connection of its message ends.
	ErrLost = errors.New("connection lost")

	// ErrNotHandled is the outcome of a receipt if the peer says so.
	ErrNotHandled = errors.New("not handled")

	// ErrCompletion is a fault of the backend: a send has completed that was not the next
	// one.
	ErrCompletion = errors.New("not the next send")

	// ErrOverflow is a fault of the peer.
	ErrOverflow = errors.New("the subscriber asks faster than it reads the answers")
)
