// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"syscall"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/internal/advertise"
	"tagbus/bus/internal/announce"
	"tagbus/bus/internal/contact"
	"tagbus/bus/internal/dialer"
	"tagbus/bus/internal/tagset"
	"tagbus/internal/sanitize"
	"tagbus/internal/validate"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// EntryLimitError says that a set of tags has more ranges or masks than a directory
// entry may have. The limits are those of a subscription: a reader of the entry works
// with the set as a publisher does with a subscription. It is an ErrEntryTooLarge.
type EntryLimitError struct {
	Instance, Name string // of the entry; empty for one's own
	Ranges, Masks  int    // that it has
}

// Error names the entry, the numbers and their limits.
func (e *EntryLimitError) Error() string {
	of := ""
	if e.Instance != "" {
		of = sanitize.Linef(" of %s (%s)", e.Name, e.Instance) // in full: it names the file of the entry
	}
	return fmt.Sprintf("%v%s: %d ranges and %d masks, limits %d together and %d masks: use ranges instead of single tags and masks",
		ErrEntryTooLarge, of, e.Ranges, e.Masks, subscription.MaxParts, subscription.MaxMasks)
}

// Unwrap returns ErrEntryTooLarge.
func (*EntryLimitError) Unwrap() error { return ErrEntryTooLarge }

// checkEntry refuses a set that is too large for a directory entry.
//
// Errors: *EntryLimitError.
func checkEntry(set tags.Set) error { return entryLimit(directory.Entry{Tags: set}) }

// entryLimit returns why an entry of the directory is too large, or nil.
//
// Errors: *EntryLimitError.
func entryLimit(e directory.Entry) error {
	if tagset.Fits(e.Tags) {
		return nil
	}
	masks := tagset.Masks(e.Tags)
	return &EntryLimitError{Instance: e.Instance, Name: e.Name, Ranges: e.Tags.Parts() - masks, Masks: masks}
}

// AdvertiseError says what is wrong with PublisherConfig.Advertise or
// ReceiverConfig.Advertise. It is an ErrInvalidConfig.
type AdvertiseError struct {
	Addr   netip.AddrPort // that cannot be announced; the zero value: it is about all of them
	Reason string         // and what to announce instead
}

// Error names the address and the reason.
func (e *AdvertiseError) Error() string {
	if !e.Addr.Addr().IsValid() {
		return sanitize.Linef("%v: Advertise: %s", ErrInvalidConfig, e.Reason)
	}
	return sanitize.Linef("%v: Advertise: %v %s", ErrInvalidConfig, e.Addr, e.Reason)
}

// Unwrap returns ErrInvalidConfig.
func (*AdvertiseError) Unwrap() error { return ErrInvalidConfig }

// WayError is the cause of a Problem event of a publisher or a receiver that is not reached by one
// of its backends. Peers reach it by the others.
type WayError struct {
	Backend string
	Err     error // why
}

// Error names the backend and the reason.
func (e *WayError) Error() string {
	return sanitize.Linef("bus: no peer connects by %s, and all use other transports: %v", e.Backend, e.Err)
}

// Unwrap returns the reason.
func (e *WayError) Unwrap() error { return e.Err }

// checkAdvertise adds what is wrong with the addresses to be announced.
func checkAdvertise(v *validate.Violations, addresses []netip.AddrPort) {
	for _, fault := range advertise.Check(addresses) {
		v.Join((*AdvertiseError)(&fault))
	}
}

// AddressLimitError is the cause of a Problem event of a publisher or a receiver that
// announces all addresses of a host with more of them than an entry names.
type AddressLimitError struct {
	Has   int // addresses of the host that others may dial
	Named int // that the entry has: the first of each network first
}

// Error says how many there are, and what to do.
func (e *AddressLimitError) Error() string { return announce.LeftOut(*e).Text() }

// AddressGoneError is the cause of a Problem event of a publisher or a receiver whose address, of
// Listen or Advertise, was one of this host and is no more. The event comes once, and once more
// when the host has it again. In between no program connects by that address.
type AddressGoneError struct {
	Addr   netip.AddrPort
	Over   bool          // the host has it again
	Lasted time.Duration // if Over: for how long it had not
}

// Error names the address, and what to do.
func (e *AddressGoneError) Error() string { return announce.Gone(*e).Text() }

// entryEvent returns the event of what has become of the entry of this side.
func entryEvent(news announce.News) Event {
	switch news := news.(type) {
	case announce.Moved:
		return Event{Kind: Announced, Addresses: news.Addresses}
	case announce.LeftOut:
		return Event{Kind: Problem, Err: (*AddressLimitError)(&news)}
	case announce.Gone:
		return Event{Kind: Problem, Err: (*AddressGoneError)(&news)}
	case announce.Failing:
		return Event{Kind: Problem, Err: (*EntryError)(&news)}
	}
	panic(fmt.Sprintf("bus: news of an entry of a type that is not known: %T", news))
}

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
func (e *LoopbackError) Error() string { return contact.Loopback(*e).Text() }

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

// peerContact is the contact of a subscriber with a publisher, or of a sender with a receiver.
type peerContact = contact.Contact[*Peer]

// words are what contacts tell of peers.
var words = contact.Words[*Peer]{
	Stale: ErrStaleEntry,
	Peer: func(e directory.Entry, at dialer.Target) *Peer {
		return &Peer{Instance: e.Instance, Name: e.Name, Host: e.Host, PID: e.PID, Addr: at.Addr, Backend: at.Backend}
	},
	NoWay:    func(x contact.NoWay) error { return (*BackendError)(&x) },
	Loopback: func(x contact.Loopback) error { return (*LoopbackError)(&x) },
}
