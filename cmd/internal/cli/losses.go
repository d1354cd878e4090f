// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strings"

	"tagbus/bus"
	"tagbus/cmd/internal/units"
)

// LossCounts is what --json prints of lost messages, by cause.
type LossCounts struct {
	Full       uint64 `json:"full"`       // the subscription had no room
	Memory     uint64 `json:"memory"`     // the publisher had no memory for those that may lose messages
	Connection uint64 `json:"connection"` // with a connection, or while there was none
	Ended      uint64 `json:"ended"`      // missing at the publisher's end without a reason
	LeftOut    uint64 `json:"left_out"`   // by the policy, on purpose: not lost
}

// Causes says by what messages were lost, for example "12 too slow, 3 with the
// connection"; empty if none were.
func Causes(l bus.Losses) string {
	var parts []string
	for _, c := range []struct {
		n    uint64
		what string
	}{
		{l.Full, "too slow"},
		{l.Memory, "for want of the publisher's memory"},
		{l.Connection, "with the connection"},
		{l.Ended, "for no known reason"},
	} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", units.FormatCount(c.n), c.what))
		}
	}
	return strings.Join(parts, ", ")
}

// AddLosses returns the sum of a and b.
func AddLosses(a, b bus.Losses) bus.Losses {
	return bus.Losses{
		Full: a.Full + b.Full, Memory: a.Memory + b.Memory, Connection: a.Connection + b.Connection,
		Ended: a.Ended + b.Ended, LeftOut: a.LeftOut + b.LeftOut,
	}
}

// LostText says how many messages were lost, by what, how many a policy has left out, and of how
// many nothing is known.
func LostText(lost uint64, l bus.Losses, unconfirmed uint64) string {
	text := units.FormatCount(lost) + " lost"
	if causes := Causes(l); causes != "" {
		text += " (" + causes + ")"
	}
	if l.LeftOut > 0 {
		text += ", " + units.FormatCount(l.LeftOut) + " left out"
	}
	if unconfirmed > 0 {
		text += ", " + units.FormatCount(unconfirmed) + " unconfirmed"
	}
	return text
}
