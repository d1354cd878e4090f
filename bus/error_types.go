// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/internal/contact"
	"tagbus/bus/internal/door"
	"tagbus/internal/goroutine"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// PublishError says which message was not published or sent, and why.
type PublishError struct {
	Tag   tags.Tag
	Bytes int // size of the message
	Limit int // for ErrMessageTooLarge: the largest possible
	Err   error

	sender bool // it was one that refused
}

// Error names the tag, the cause and what to change.
func (e *PublishError) Error() string {
	do, cfg := "publish", "PublisherConfig"
	if e.sender {
		do, cfg = "send", "SenderConfig"
	}
	switch {
	case errors.Is(e.Err, errLoanTooLarge):
		return sanitize.Linef("bus: loan for %v: %v: %d bytes, limit %d: raise %s.PageBytes, or use PublishZeroCopy", e.Tag, e.Err, e.Bytes, e.Limit, cfg)
	case errors.Is(e.Err, ErrMessageTooLarge):
		return sanitize.Linef("bus: %s %v: %v: %d bytes, limit %d: raise %s.MaxMessageBytes", do, e.Tag, e.Err, e.Bytes, e.Limit, cfg)
	case errors.Is(e.Err, ErrUnknownTag):
		return sanitize.Linef("bus: %s %v: %v: add it to %s.Tags", do, e.Tag, e.Err, cfg)
	case errors.Is(e.Err, ErrNoReceiver):
		return sanitize.Linef("bus: %s %v: %v: start a Receiver that owns it, and wait for that with SendContext or WaitReceivers", do, e.Tag, e.Err)
	default:
		return sanitize.Linef("bus: %s %v: %v", do, e.Tag, e.Err)
	}
}

// errLoanTooLarge is that of a loan which is more than a page.
var errLoanTooLarge = fmt.Errorf("%w for one piece of memory", ErrMessageTooLarge)

// Unwrap returns the cause.
func (e *PublishError) Unwrap() error { return e.Err }

// AckError says that SendAcked accepted a message and the receiver did not acknowledge
// it.
type AckError struct {
	Tag     tags.Tag
	Counter uint64 // of the message, as the receiver sees it
	Lost    bool   // it is certain that it is not handled; false: unknown, as always for a sender with a cache
	Err     error
}

// Error names the message, the cause, and what is known.
func (e *AckError) Error() string {
	known := "it may or may not have been handled"
	if e.Lost {
		known = "it has not been handled"
	}
	return sanitize.Linef("bus: send %v: message %d is not acknowledged: %v: %s", e.Tag, e.Counter, e.Err, known)
}

// Unwrap returns the cause.
func (e *AckError) Unwrap() error { return e.Err }

// NoReplyError says that a command was sent and not answered.
type NoReplyError struct {
	Command, Reply tags.Tag
	After          time.Duration // how long the request took, with the waiting before it was sent
	WithoutID      uint64        // messages without the id of a request that came on Reply meanwhile
	Err            error         // what ended it
}

// Error names the tags and the time, and what to do if the device does not give ids back.
func (e *NoReplyError) Error() string {
	text := fmt.Sprintf("bus: request to %v: %v on %v after %v: %v: the command may or may not have been carried out",
		e.Command, ErrNoReply, e.Reply, e.After.Round(time.Millisecond), e.Err)
	if e.WithoutID > 0 {
		text += fmt.Sprintf("; messages without a request's id that came there: %d: have the device answer by Publisher.Reply, or set RequesterConfig.Match", e.WithoutID)
	}
	return sanitize.Line(text)
}

// Is reports whether target is ErrNoReply.
func (*NoReplyError) Is(target error) bool { return target == ErrNoReply }

// Unwrap returns what ended the request.
func (e *NoReplyError) Unwrap() error { return e.Err }

// DuplicateError is the cause of a sender's Duplicate event: two receivers own the
// same tags.
type DuplicateError struct {
	Tags   tags.Set // that both own
	First  *Peer    // which is connected and gets the messages
	Second *Peer    // which gets none, not of its other tags either
}

// Error names the tags and both receivers.
func (e *DuplicateError) Error() string {
	return sanitize.Linef("bus: tags %s%s%v gets the messages, %v none: give each tag one receiver",
		shortSet(e.Tags), twoReceivers, e.First, e.Second)
}

// twoReceivers tells the text of a DuplicateError from others, when it comes as the reason
// of a refusal.
const twoReceivers = " have two receivers: "

// refusedError is the reason of a refusal, as the other side has said it.
type refusedError struct{ reason string }

func (e refusedError) Error() string { return e.reason }

// Is reports whether target is ErrOwned or ErrNotAllowed, and the reason is that.
func (e refusedError) Is(target error) bool {
	return target == ErrOwned && strings.Contains(e.reason, twoReceivers) ||
		target == ErrNotAllowed && strings.Contains(e.reason, door.NoRule)
}

// NoPublisherError ends a subscription that no publisher acknowledges in time. It wraps
// ErrNoPublisher.
type NoPublisherError struct {
	Tags   tags.Set
	Waited time.Duration // SubscriptionConfig.Timeout
	Err    error         // why a publisher refused the subscription; nil if none did
}

// Error names the tags, the time, the refusal if there was one, and what to do.
func (e *NoPublisherError) Error() string {
	if e.Err != nil {
		return sanitize.Linef("bus: subscribe to %s: %v within %v: refused: %v", shortSet(e.Tags), ErrNoPublisher, e.Waited, e.Err)
	}
	return sanitize.Linef("bus: subscribe to %s: %v within %v: start one that serves these tags, look whether both use the same directory, or raise SubscriptionConfig.Timeout",
		shortSet(e.Tags), ErrNoPublisher, e.Waited)
}

// Unwrap returns ErrNoPublisher and the refusal.
func (e *NoPublisherError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrNoPublisher}
	}
	return []error{ErrNoPublisher, e.Err}
}

// UnconfirmedError is the cause of a publisher's Lost event if the connection ends with
// messages that the subscriber has not confirmed. If the subscriber comes back, it says
// which it received, and each counts as sent or lost (LaneState).
type UnconfirmedError struct {
	Messages uint64
	Err      error // why the connection ended; nil if the subscriber said goodbye
}

// Error names the number and the cause.
func (e *UnconfirmedError) Error() string {
	s := fmt.Sprintf("bus: %d messages unconfirmed", e.Messages)
	if e.Err != nil {
		s += ": " + sanitize.Error(e.Err)
	}
	return s
}

// Unwrap returns the cause.
func (e *UnconfirmedError) Unwrap() error { return e.Err }

// SilentError says how long a peer sent nothing, until its connection was closed for
// that.
type SilentError struct {
	For   time.Duration // to within a tick, rounded down
	Limit time.Duration // HeartbeatTimeout, or three intervals of the connection if that is longer
}

// Error names the time and what to do.
func (e *SilentError) Error() string {
	return sanitize.Linef("%v for %v, limit %v: it is stopped, or its host or the network is down; raise HeartbeatTimeout if it may be silent for longer",
		ErrSilent, e.For.Round(time.Millisecond), e.Limit)
}

// Unwrap returns ErrSilent.
func (*SilentError) Unwrap() error { return ErrSilent }

// StallError says how long a subscriber has taken none of the messages that wait for
// it.
type StallError struct {
	For   time.Duration // to within a tick, rounded down
	Limit time.Duration // that was exceeded; 0: the publisher goes on waiting
}

// Error names the time and what to do.
func (e *StallError) Error() string {
	if e.Limit == 0 {
		return sanitize.Linef("%v for %v, and the publisher waits for it: look what it waits for, or set PublisherConfig.MaxStall",
			ErrStalled, e.For.Round(time.Millisecond))
	}
	return sanitize.Linef("%v for %v, limit %v: make it faster, or raise the time of its policy or PublisherConfig.MaxStall",
		ErrStalled, e.For.Round(time.Millisecond), e.Limit)
}

// Unwrap returns ErrStalled.
func (*StallError) Unwrap() error { return ErrStalled }

// PageError says why a page could not be read.
type PageError struct {
	Offset int // byte within the page
	Reason string
}

// Error names the place and the reason.
func (e *PageError) Error() string {
	return sanitize.Linef("bus: damaged page at byte %d: %s", e.Offset, e.Reason)
}

// Unwrap returns ErrProtocol.
func (*PageError) Unwrap() error { return ErrProtocol }

// EventsDroppedError is the cause of a Problem event: so many events were dropped
// because too many waited for OnEvent. Gap events are never dropped.
type EventsDroppedError struct{ Events uint64 }

// Error says how many, and what to do.
func (e *EventsDroppedError) Error() string {
	return fmt.Sprintf("%v: %d: return from OnEvent and from handlers sooner, and look for peers that connect or subscribe again and again",
		ErrEventsDropped, e.Events)
}

// Is reports whether target is ErrEventsDropped.
func (*EventsDroppedError) Is(target error) bool { return target == ErrEventsDropped }

// BackendError is the cause of a Refused event: the entry in the directory names
// another backend than that of this program, so it cannot be dialed; or one that both have is within a
// host, and could not be used.
type BackendError struct {
	Role   directory.Role // of the entry
	Theirs string         // the backend of the entry: "rdma:verbs"
	Ours   string         // the backend of this program: "tcp"
	Err    error          // of the way within the host that both have; nil: the peer is elsewhere, or there is none
}

// Unwrap returns Err.
func (e *BackendError) Unwrap() error { return e.Err }

// Error says what both speak, and what to do.
func (e *BackendError) Error() string { return contact.NoWay(*e).Text() }

// PanicError is the cause of a Problem event for a message whose handler
// panicked. The message counts as delivered and the handler stays.
type PanicError struct {
	Tag   tags.Tag // of a batch: that of its first message
	Value any      // of the panic
	Stack []byte
}

// Error names the tag, the panic's value and the place. It is one line; the whole
// stack is in Stack.
func (e *PanicError) Error() string {
	return sanitize.Linef("bus: handler of tag %v panicked: %v%s", e.Tag, e.Value, goroutine.PlaceOfPanic(e.Stack))
}
