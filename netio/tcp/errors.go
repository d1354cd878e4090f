package tcp

import "errors"

var (
	// ErrInvalidConfig is wrapped by every violation that Config.Validate
	// reports.
	ErrInvalidConfig = errors.New("tcp: invalid configuration")

	// ErrCallbackPanicked is the cause, in a *netio.OpError, with which an
	// endpoint closes when a callback of its Handler panicked. The event loop
	// reports the panic itself.
	ErrCallbackPanicked = errors.New("tcp: a callback of the handler panicked")
)
