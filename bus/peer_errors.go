// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"io"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/internal/announce"
	"tagbus/internal/sanitize"
	"tagbus/netio"
)

// LoopbackError is the cause of a Refused event: the entry in the directory is of another
// host and has loopback addresses only. These lead back to this host, so every try fails.
// The event comes again, after pauses that grow from 10 s to 10 min, while it lasts.
type LoopbackError struct {
	Role      directory.Role   // of the entry
	Host      string           // of the entry
	Ours      string           // this host
	Addresses []netip.AddrPort // addresses of the entry
	Err       error            // why the try failed
}

// Error names both hosts and the addresses, and says what to do at the other one.
func (e *LoopbackError) Error() string {
	them, config := "publisher", "PublisherConfig"
	if e.Role == directory.Receiver {
		them, config = "receiver", "ReceiverConfig"
	}
	var all []string
	for _, addr := range e.Addresses {
		all = append(all, addr.String())
	}
	return sanitize.Linef("bus: the %s is on host %s and announces only %s, which no other host can reach; this is host %s: set %s.Listen to an address that this host can reach: %v",
		them, sanitize.Text(e.Host), strings.Join(all, ", "), sanitize.Text(e.Ours), config, e.Err)
}

// Unwrap returns why the try failed.
func (e *LoopbackError) Unwrap() error { return e.Err }

// SizeError reports that one side of a connection may send more at once than the other one takes. That
// does not pass: one of them is to be configured again. It is an ErrMessageTooLarge.
type SizeError struct {
	Sends, Takes int
	text         string
}

// Error names both sizes and what to raise.
func (e *SizeError) Error() string { return e.text }

// Is reports whether target is ErrMessageTooLarge.
func (e *SizeError) Is(target error) bool { return target == ErrMessageTooLarge }

// PeerFailedError is the cause of a Goodbye event, or a Vanished event, of a publisher or
// sender that says why it has failed (Publisher.DrainFailed).
type PeerFailedError struct {
	Reason string // one line, safe to show, in the words of the peer
}

// Error names the reason.
func (e *PeerFailedError) Error() string { return sanitize.Linef("%v: %s", ErrPeerFailed, e.Reason) }

// Unwrap returns ErrPeerFailed.
func (*PeerFailedError) Unwrap() error { return ErrPeerFailed }

// EntryError is the cause of a Problem event of a publisher or a receiver: its entry in
// the directory cannot be announced, renewed or changed, or the directory has too many
// (directory.ErrCrowded), which subscribers and senders are told, too. Connections stay,
// but no program finds an entry that is expired, or that was never there. The event comes once, and once
// more when the problem is over. In between the directory tries again by itself.
type EntryError struct {
	Err         error         // why it cannot be renewed, or could not at first
	Unannounced bool          // no program has found it yet: the directory was away when it was announced
	Over        bool          // it is announced, or renewed again
	Lasted      time.Duration // if Over: for how long it was not; if Unannounced, since it should have been
}

// Error says why, or how long it lasted. Of one that was announced late it does not repeat why.
func (e *EntryError) Error() string { return announce.Failing(*e).Text() }

// Unwrap returns the cause.
func (e *EntryError) Unwrap() error { return e.Err }

// OwnStallError is the cause of a Lost event if the other side has ended the connection after this program had taken
// and sent nothing for a while: the program was stopped, its callbacks took long, or it
// had paused reading because a queue of its own was full. The fault is likely to be here, unless the other side was
// stopped or killed, which looks the same.
type OwnStallError struct {
	For time.Duration // to within a tick
	Err error         // how the connection has ended
}

// Error names the time and what to do.
func (e *OwnStallError) Error() string {
	return sanitize.Linef("bus: this program took nothing for %v before the other side ended the connection (%v): unless that side died, make handlers and readers here faster",
		e.For.Round(time.Millisecond), e.Err)
}

// Unwrap returns how the connection has ended.
func (e *OwnStallError) Unwrap() error { return e.Err }

// OwnStall returns For.
func (e *OwnStallError) OwnStall() time.Duration { return e.For }

// blame returns a cause of the end of a connection as an *OwnStallError, if it was the other side that ended it and
// this side took nothing just before.
//
//   - held: for how long; 0: it did not stand still.
func blame(cause error, held time.Duration) error {
	if held > 0 && (errors.Is(cause, io.EOF) || errors.Is(cause, ErrNoGoodbye) || errors.Is(cause, syscall.ECONNRESET) || errors.Is(cause, syscall.EPIPE) || errors.Is(cause, netio.ErrTruncated)) {
		return &OwnStallError{For: held, Err: cause}
	}
	return cause
}
