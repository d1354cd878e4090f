// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"bytes"
	"errors"
	"fmt"
)

// Append appends the encoding of m to b.
//
// Errors: *ControlError, also for what Decode would refuse; it wraps ErrTooLong
// for a reason of more than 255 bytes and when the message would be longer than
// MaxControlBytes.
func Append(b []byte, m Message) ([]byte, error) {
	if err := m.validate(); err != nil {
		return b, &ControlError{Kind: m.Kind(), Err: err}
	}
	start := len(b)
	out, err := appendBody(append(b, byte(m.Kind())), m)
	if err != nil {
		return b, &ControlError{Kind: m.Kind(), Err: err}
	}
	if n := len(out) - start; n > MaxControlBytes {
		return b, &ControlError{Kind: m.Kind(), Err: fmt.Errorf("%w: %d bytes, limit %d", ErrTooLong, n, MaxControlBytes)}
	}
	return out, nil
}

// Decode decodes a control message other than a hello. The result does not
// share memory with b, which others may change meanwhile: b is copied first, as its
// lengths are checked and then read again.
//
// Errors: *ControlError.
func Decode(b []byte) (Message, error) {
	if len(b) == 0 {
		return nil, &ControlError{Err: ErrUnknownKind}
	}
	kind := Kind(b[0])
	m := newMessage(kind)
	switch {
	case m == nil:
		return nil, &ControlError{Kind: kind, Err: ErrUnknownKind}
	case len(b) > MaxControlBytes:
		return nil, &ControlError{Kind: kind, Err: fmt.Errorf("%w: %d bytes, limit %d", ErrTooLong, len(b), MaxControlBytes)}
	}
	if err := decodeBody(bytes.Clone(b[1:]), m); err != nil {
		return nil, &ControlError{Kind: kind, Err: err}
	}
	if err := m.validate(); err != nil {
		return nil, &ControlError{Kind: kind, Err: err}
	}
	return m, nil
}

// DecodeRefused decodes a message that has begun as a Refused does.
//
// Errors: *ControlError, also if it is another one by now.
func DecodeRefused(b []byte) (*Refused, error) {
	m, err := Decode(b)
	if err != nil {
		return nil, err
	}
	refused, ok := m.(*Refused)
	if !ok {
		return nil, &ControlError{Kind: m.Kind(), Err: errors.New("it has been another message before")}
	}
	return refused, nil
}

func newMessage(kind Kind) Message {
	switch kind {
	case KindSubscribe:
		return new(Subscribe)
	case KindSubscribed:
		return new(Subscribed)
	case KindUnsubscribe:
		return new(Unsubscribe)
	case KindUnsubscribed:
		return new(Unsubscribed)
	case KindPositions:
		return new(Positions)
	case KindRefused:
		return new(Refused)
	case KindGoodbye:
		return new(Goodbye)
	case KindLost:
		return new(Lost)
	case KindMissed:
		return new(Missed)
	case KindBeat:
		return new(Beat)
	case KindAck:
		return new(Ack)
	case KindReceived:
		return new(Received)
	case KindDescribe:
		return new(Describe)
	case KindDescription:
		return new(Description)
	case KindRights:
		return new(Rights)
	case KindDenied:
		return new(Denied)
	case KindDropped:
		return new(Dropped)
	default:
		return nil
	}
}
