// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/cmd/internal/options"
	"tagbus/node"
)

// Code is a TAGBUS_ code of tagbus.h.
type Code int32

// The codes, as in tagbus.h.
const (
	OK            Code = 0
	Invalid       Code = -1
	Closed        Code = -2
	Timeout       Code = -3
	NoRoom        Code = -4
	UnknownTag    Code = -5
	TooLarge      Code = -6
	NoReceiver    Code = -7
	Denied        Code = -8
	Forked        Code = -9
	WouldDeadlock Code = -10
	Load          Code = -11
	Limit         Code = -12
	End           Code = -13
	Undelivered   Code = -14
	Unacked       Code = -15
	NoReply       Code = -16
	System        Code = -17
	Internal      Code = -18
	NoPublisher   Code = -19

	// Empty is of Subscription.Next only: there is nothing now. It does not leave the library.
	Empty Code = 1
)

// Error is an error with its code.
type Error struct {
	Code Code
	Text string
}

// Error returns the text.
func (e *Error) Error() string { return e.Text }

func invalid(format string, args ...any) error { return &Error{Invalid, fmt.Sprintf(format, args...)} }

// causes has the codes of errors, the most special first.
var causes = []struct {
	err  error
	code Code
}{
	{bus.ErrOnLoop, WouldDeadlock},
	{bus.ErrUnknownTag, UnknownTag},
	{bus.ErrMessageTooLarge, TooLarge},
	{bus.ErrNoReply, NoReply},
	{bus.ErrNotAllowed, Denied},
	{bus.ErrPolicyRefused, Denied},
	{bus.ErrNoReceiver, NoReceiver},
	{bus.ErrNoPublisher, NoPublisher},
	{bus.ErrUndelivered, Undelivered},
	{bus.ErrRetainLimit, Limit},
	{bus.ErrTooManyRequests, Limit},
	{bus.ErrTooManyPolicies, Limit},
	{bus.ErrTooManyRemoved, Limit},
	{bus.ErrTooSlow, Limit},
	{bus.ErrPublisherMemory, Limit},
	{bus.ErrQueueFull, Limit},
	{bus.ErrLeftOut, Limit},
	{bus.ErrSubscriberBytes, Limit},
	{bus.ErrGroupMemory, Limit},
	{bus.ErrAccountMemory, Limit},
	{bus.ErrEntryTooLarge, Limit},
	{bus.ErrTooManySubscribers, Limit},
	{bus.ErrTooManySenders, Limit},
	{bus.ErrNoResources, NoRoom},
	{context.DeadlineExceeded, Timeout},
	{node.ErrStuck, Timeout},
	{bus.ErrInvalidConfig, Invalid},
	{bus.ErrEmptySet, Invalid},
	{directory.ErrInvalidURL, Invalid},
	{directory.ErrUnknownScheme, Invalid},
	{node.ErrUnknownBackend, Invalid},
	{node.ErrNoCredentials, Invalid},
	{node.ErrNotSecure, Invalid},
	{bus.ErrClosed, Closed},
}

// CodeOf returns the code of an error. What is none of the bus's own is of the system or the
// network.
func CodeOf(err error) Code {
	var own *Error
	var acked *bus.AckError
	switch {
	case err == nil:
		return OK
	case errors.As(err, &own):
		return own.Code
	case errors.As(err, &acked):
		return Unacked
	}
	for _, c := range causes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return System
}

// TextOf returns what a person is told of an error, in one line.
func TextOf(err error) string {
	if err == nil {
		return ""
	}
	return inWords(options.Text(err))
}

// ownWords says in the words of tagbus.h what is left of those of Go.
var ownWords = strings.NewReplacer(
	"\n", "; ",
	"raise SubscriberConfig.MaxMessageBytes", "raise --max-message-bytes of the subscriber",
	"raise ReceiverConfig.MaxMessageBytes", "raise --max-message-bytes of the receiver",
	"raise RequesterConfig.MaxWaiting", "raise --max-waiting",
	"raise PublisherConfig.PoolBytes", "raise --pool-bytes of the publisher",
	"read Messages faster, or raise SubscriberConfig.QueueBytes", "take batches faster, or raise --queue-bytes",
	"release messages, or raise RetainBytes", "release batches, or raise --retain-bytes",
	"choose one by SubscriptionConfig.Duplicates", "choose one by --duplicates",
	"use the variant that does not wait, or another goroutine", "give it no time, or use another thread",
	"have the device answer by Publisher.Reply, or set RequesterConfig.Match", "have the device answer by tagbus_reply",
	"wait for OnEvent", "wait for on_event",
	"return from OnEvent and from handlers sooner", "return from callbacks sooner",
	"lower BacklogBytes", "lower --backlog",
	"set SubscriptionConfig.Batches, and pass a nil handler", "subscribe without on_batch",
	"pass a nil handler to iterate", "subscribe without on_batch",
)

// inWords returns a text in the words of tagbus.h, in one line.
func inWords(text string) string { return ownWords.Replace(text) }
