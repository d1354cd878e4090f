// SPDX-License-Identifier: Apache-2.0

package bus

import "tagbus/internal/sanitize"

// PeerFailedError is the cause of a Goodbye event, or a Vanished event, of a publisher or
// sender that says why it has failed (Publisher.DrainFailed).
type PeerFailedError struct {
	Reason string // one line, safe to show, in the words of the peer
}

// Error names the reason.
func (e *PeerFailedError) Error() string { return sanitize.Linef("%v: %s", ErrPeerFailed, e.Reason) }

// Unwrap returns ErrPeerFailed.
func (*PeerFailedError) Unwrap() error { return ErrPeerFailed }
