package bus

import (
	"tagbus/bus/directory"
	"tagbus/internal/plain"
)

// BackendError is the cause of a Refused event: the entry in the directory names
// another backend than that of this program, so it cannot be dialed.
type BackendError struct {
	Role   directory.Role // of the entry
	Theirs string         // the backend of the entry: "rdma:verbs"
	Ours   string         // the backend of this program: "tcp"
}

// Error says what both speak, and what to do.
func (e *BackendError) Error() string {
	them, us := "publisher", "subscriber"
	if e.Role == directory.Receiver {
		them, us = "receiver", "sender"
	}
	return plain.Linef("bus: %s speaks %q, this %s %q: use the same backend for both, here %q (node.Config.Backend)",
		them, e.Theirs, us, e.Ours, e.Theirs)
}
