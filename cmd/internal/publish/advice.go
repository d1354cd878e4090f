// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"fmt"
	"net/netip"

	"tagbus/cmd/internal/cli"
)

// where is where a publisher can be reached, and what decides that.
type where struct {
	announced  []netip.AddrPort // what subscribers are told
	advertised bool             // --advertise
	everywhere bool             // --listen names all addresses of the host, which has no other
}

// where returns that of the run.
func (r *run) where() where {
	f := r.flags
	return where{r.told.Addresses(), len(f.Advertise) > 0, len(f.Advertise) == 0 && f.Listen.Addr().IsUnspecified()}
}

// deserted says what to do about a run that no subscriber has taken part in.
//
//   - refused: how many connections and subscriptions were refused.
func deserted(w where, refused int64) string {
	switch {
	case refused > 0:
		return fmt.Sprintf("no subscription was accepted: refused %d times, for the reasons above", refused)
	case !cli.OnlyLoopback(w.announced):
		return "no subscriber came before the end: --wait-subscribers 1 waits for one"
	case w.everywhere:
		return fmt.Sprintf("no subscriber came: from other hosts none can reach %v, and this host has no address that they reach: look after its network; --wait-subscribers 1 waits for one", w.announced[0])
	default:
		return fmt.Sprintf("no subscriber came: from other hosts none can reach %v, %s is for these; --wait-subscribers 1 waits for one", w.announced[0], option(w.advertised, " HOST", " HOST:0"))
	}
}

// soFar says how many subscribers have come.
func soFar(subscribers string, none bool, w where) string {
	text := fmt.Sprintf("still waiting: %s so far", subscribers)
	switch {
	case !none || !cli.OnlyLoopback(w.announced):
		return text
	case w.everywhere:
		return text + fmt.Sprintf("; from other hosts none can reach %v, and this host has no address that they reach", w.announced[0])
	default:
		return text + fmt.Sprintf("; from other hosts none can reach %v (%s)", w.announced[0], option(w.advertised, "", ""))
	}
}

// option returns the option that says where other hosts reach the publisher, with a value.
func option(advertised bool, advertise, listen string) string {
	if advertised {
		return "--advertise" + advertise
	}
	return "--listen" + listen
}
