// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"sync/atomic"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/units"
)

// Audience follows the subscribers of a publisher, and what they are told of where it is. The zero value is of one that
// listens at one address, which it announces.
//
// Threads: any.
type Audience struct {
	Advertised bool // by --advertise
	Everywhere bool // --listen names all addresses of the host, which has no other

	Told       cli.Told
	Subscribed atomic.Int64 // subscriptions seen
	Refused    atomic.Int64 // connections and subscriptions
}

// See takes an event.
func (a *Audience) See(e bus.Event) {
	switch e.Kind {
	case bus.Subscribed:
		a.Subscribed.Add(1)
	case bus.Refused:
		a.Refused.Add(1)
	default: // of no account
	}
	a.Told.Follow(e)
}

// Deserted says what to do about a run that no subscriber has taken part in.
func (a *Audience) Deserted() string {
	announced := a.Told.Addresses()
	switch refused := a.Refused.Load(); {
	case refused > 0:
		return fmt.Sprintf("no subscription was accepted: refused %d times, for the reasons above", refused)
	case !cli.OnlyLoopback(announced):
		return "no subscriber came before the end: --wait-subscribers 1 waits for one"
	case a.Everywhere:
		return fmt.Sprintf("no subscriber came: from other hosts none can reach %v, and this host has no address that they reach: look after its network; --wait-subscribers 1 waits for one", announced[0])
	default:
		return fmt.Sprintf("no subscriber came: from other hosts none can reach %v, %s is for these; --wait-subscribers 1 waits for one", announced[0], a.option(" HOST", " HOST:0"))
	}
}

// SoFar says how many subscribers have come.
func (a *Audience) SoFar(came int) string {
	text := fmt.Sprintf("still waiting: %s so far", units.FormatNumber(came, "subscriber"))
	switch announced := a.Told.Addresses(); {
	case came > 0 || !cli.OnlyLoopback(announced):
		return text
	case a.Everywhere:
		return text + fmt.Sprintf("; from other hosts none can reach %v, and this host has no address that they reach", announced[0])
	default:
		return text + fmt.Sprintf("; from other hosts none can reach %v (%s)", announced[0], a.option("", ""))
	}
}

// option returns the option that says where other hosts reach the publisher, with a value.
func (a *Audience) option(advertise, listen string) string {
	if a.Advertised {
		return "--advertise" + advertise
	}
	return "--listen" + listen
}
