// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

const (
	// Version is the protocol version of this program. It changes when a peer
	// of the old version could misread the new one.
	Version uint16 = 1

	// MaxHelloBytes limits the first message of a connection.
	MaxHelloBytes = 4096

	// MaxTextBytes limits every text of a control message.
	MaxTextBytes = 255

	// MaxBeatMillis limits Hello.BeatMillis: an hour.
	MaxBeatMillis = 3_600_000

	// RoleSender is the role of a publisher that dials.
	RoleSender = "sender"

	// RoleReceiver is the role of a subscriber that listens.
	RoleReceiver = "receiver"

	// RoleObserver is the role of a program that dials to ask for the state of a publisher
	// or receiver. It is no peer: it gets no message.
	RoleObserver = "observer"

	magic       = "TAGBUS"
	helloPrefix = len(magic) + 2
)

// Hello is the first message that each side sends:
//
//	6 bytes  "TAGBUS"
//	2 bytes  protocol version, little-endian
//	rest     msgpack map
//
// The first eight bytes stay the same in all versions to come, so that two
// versions can always tell each other apart.
type Hello struct {
	// Instance identifies the sender's publisher or subscriber: a nuid, new
	// at every start. Not empty.
	Instance string `msgpack:"instance"`

	// Expect is the instance that the side that dials means to reach, from the
	// directory. Another instance refuses: the directory entry was stale. Empty
	// means any; the side that listens leaves it empty.
	Expect string `msgpack:"expect,omitempty"`

	// Role is RoleSender or RoleReceiver on a connection that a publisher has
	// dialed, RoleObserver of an observer, which dials either, and empty on all others.
	Role string `msgpack:"role,omitempty"`

	Name string `msgpack:"name,omitempty"` // chosen by the user, for operators
	Host string `msgpack:"host,omitempty"`
	PID  int    `msgpack:"pid,omitempty"`

	// MaxMessageBytes is the largest transport message (page or control) that
	// the sender accepts.
	MaxMessageBytes int `msgpack:"max_message_bytes"`

	// BeatMillis is the longest that the sender sends nothing, in milliseconds,
	// at most MaxBeatMillis: then comes a Beat. 0: it promises nothing, and its
	// silence means nothing.
	BeatMillis int `msgpack:"beat_ms,omitempty"`

	// Limited reports whether the publisher that sends it goes by a policy: Rights follow,
	// and the subscriber asks for nothing before.
	Limited bool `msgpack:"limited,omitempty"`
}

// AppendHello appends the encoding of h to b.
//
// Errors: *ControlError for what DecodeHello would refuse: a negative number
// or one above its limit, an empty instance, or a text of more than 255 bytes, which
// is ErrTooLong.
func AppendHello(b []byte, h Hello) ([]byte, error) {
	if err := h.validate(); err != nil {
		return b, &ControlError{Kind: KindHello, Err: err}
	}
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint16(b, Version)
	return appendBody(b, &h)
}

// DecodeHello decodes the first message of a connection, which others may change meanwhile.
//
// Errors: ErrMagic, *VersionError, or *ControlError.
func DecodeHello(b []byte) (Hello, error) {
	if len(b) < helloPrefix || string(b[:len(magic)]) != magic {
		return Hello{}, ErrMagic
	}
	if v := binary.LittleEndian.Uint16(b[len(magic):]); v != Version {
		return Hello{}, &VersionError{Got: v, Want: Version}
	}
	if len(b) > MaxHelloBytes {
		return Hello{}, &ControlError{Kind: KindHello, Err: fmt.Errorf("%w: %d bytes, limit %d", ErrTooLong, len(b), MaxHelloBytes)}
	}
	var h Hello
	if err := decodeBody(bytes.Clone(b[helloPrefix:]), &h); err != nil {
		return Hello{}, &ControlError{Kind: KindHello, Err: err}
	}
	if err := h.validate(); err != nil {
		return Hello{}, &ControlError{Kind: KindHello, Err: err}
	}
	return h, nil
}

func (h Hello) validate() error {
	return errors.Join(
		checkFilled("instance", []byte(h.Instance)),
		checkText("instance", h.Instance), checkText("expect", h.Expect),
		checkText("role", h.Role), checkText("name", h.Name), checkText("host", h.Host),
		checkNumber("pid", h.PID, math.MaxInt), checkNumber("max_message_bytes", h.MaxMessageBytes, math.MaxInt),
		checkNumber("beat_ms", h.BeatMillis, MaxBeatMillis),
	)
}

func checkNumber(field string, n, limit int) error {
	switch {
	case n < 0:
		return fmt.Errorf("%s is negative", field)
	case n > limit:
		return fmt.Errorf("%s is %d, limit %d", field, n, limit)
	}
	return nil
}

func checkText(field, text string) error {
	if len(text) > MaxTextBytes {
		return fmt.Errorf("%w: %s has %d bytes, limit %d", ErrTooLong, field, len(text), MaxTextBytes)
	}
	return nil
}
