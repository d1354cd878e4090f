// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// PolicyKind is what a publisher does when a subscription has no room.
type PolicyKind uint8

// The kinds of policies.
const (
	// Block refuses the message for all subscribers: the publisher waits. Nothing is
	// lost while the connection lives.
	Block PolicyKind = iota

	// DropNewest loses the messages for which there is no room.
	DropNewest

	// DropOldest loses the messages that wait longest, to make room.
	DropOldest

	// Latest keeps only the newest message of each tag while the subscription
	// is busy: it always gets the state of now, never a backlog.
	Latest

	// Sample takes every Nth message of each tag, and loses what finds no room
	// then.
	Sample

	// Disconnect blocks. It closes the connection when the subscriber has taken
	// nothing of what waits for it for some time, as exactly as
	// PublisherConfig.MaxStall of package bus says.
	Disconnect
)

var kindNames = [...]string{"block", "drop-newest", "drop-oldest", "latest", "sample", "disconnect"}

// String returns the kind's name.
func (k PolicyKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("policy %d", uint8(k))
}

// UnmarshalText implements encoding.TextUnmarshaler: it reads a kind's name.
func (k *PolicyKind) UnmarshalText(text []byte) error {
	i := slices.Index(kindNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("%w: %q, want %s", ErrPolicy, text, strings.Join(kindNames[:], ", "))
	}
	*k = PolicyKind(i)
	return nil
}

// Policy says how a slow subscription is treated. The zero value blocks.
type Policy struct {
	Kind  PolicyKind
	Every uint64        // Sample: of that many messages of a tag the first is taken
	After time.Duration // Disconnect: how long the subscriber may take nothing
}

// maxStall is the longest time of Disconnect: longer than anything lasts.
const maxStall = 10 * 365 * 24 * time.Hour

// DefaultStall is the time of Disconnect when none is named.
const DefaultStall = 5 * time.Second

// ErrPolicy is wrapped by the errors about policies.
var ErrPolicy = errors.New("subscription: not a policy")

// Validate returns nil if p is a policy, or else what is wrong with it.
//
// Errors: ErrPolicy, wrapped.
func (p Policy) Validate() error {
	switch {
	case int(p.Kind) >= len(kindNames):
		return fmt.Errorf("%w: unknown kind %d", ErrPolicy, p.Kind)
	case p.Kind == Sample && p.Every < 1:
		return fmt.Errorf("%w: sample every %d messages, want at least 1", ErrPolicy, p.Every)
	case p.Kind == Disconnect && (p.After < time.Millisecond || p.After > maxStall):
		return fmt.Errorf("%w: disconnect after %v, want 1ms to %v", ErrPolicy, p.After, maxStall)
	case p.Kind != Sample && p.Every != 0, p.Kind != Disconnect && p.After != 0:
		return fmt.Errorf("%w: %v has no such argument", ErrPolicy, p.Kind)
	}
	return nil
}

// Lossless reports whether p loses nothing while the connection lives.
func (p Policy) Lossless() bool { return p.Kind == Block || p.Kind == Disconnect }

// String returns the text form: "block", "drop-newest", "drop-oldest",
// "latest", "sample:10" or "disconnect:5s".
func (p Policy) String() string {
	switch p.Kind {
	case Sample:
		return fmt.Sprintf("%v:%d", p.Kind, p.Every)
	case Disconnect:
		return fmt.Sprintf("%v:%v", p.Kind, p.After)
	default:
		return p.Kind.String()
	}
}

// ParsePolicy reads the text form. Disconnect without a time means DefaultStall.
//
// Errors: ErrPolicy, wrapped with the text and the forms that exist, or with the limits of an
// argument.
func ParsePolicy(text string) (Policy, error) {
	name, argument, has := strings.Cut(text, ":")
	wrong := fmt.Errorf("%w: %q, want block, drop-newest, drop-oldest, latest, sample:N or disconnect:TIME", ErrPolicy, text)
	for kind, known := range kindNames {
		if known != name {
			continue
		}
		p := Policy{Kind: PolicyKind(kind)}
		var err error
		switch {
		case p.Kind == Sample:
			p.Every, err = strconv.ParseUint(argument, 10, 64)
		case p.Kind == Disconnect && has:
			p.After, err = time.ParseDuration(argument)
		case p.Kind == Disconnect:
			p.After = DefaultStall
		case has:
			return Policy{}, wrong
		}
		if err != nil {
			return Policy{}, wrong
		}
		if err := p.Validate(); err != nil {
			return Policy{}, err // which names the limits
		}
		return p, nil
	}
	return Policy{}, wrong
}
