// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"fmt"
	"net/netip"

	"tagbus/cmd/internal/cli"
)

// deserted says what to do about a run that no subscriber has taken part in.
//
//   - announced: what subscribers were told.
//   - advertised: because --advertise says so.
//   - refused: how many connections and subscriptions were refused.
func deserted(announced []netip.AddrPort, advertised bool, refused int64) string {
	switch {
	case refused > 0:
		return fmt.Sprintf("no subscription was accepted: refused %d times, for the reasons above", refused)
	case cli.OnlyLoopback(announced):
		return fmt.Sprintf("no subscriber came: from other hosts none can reach %v, %s is for these; --wait-subscribers 1 waits for one", announced[0], option(advertised, " HOST", " HOST:0"))
	default:
		return "no subscriber came before the end: --wait-subscribers 1 waits for one"
	}
}

// soFar says how many subscribers have come.
func soFar(subscribers string, none bool, announced []netip.AddrPort, advertised bool) string {
	text := fmt.Sprintf("still waiting: %s so far", subscribers)
	if none && cli.OnlyLoopback(announced) {
		text += fmt.Sprintf("; from other hosts none can reach %v (%s)", announced[0], option(advertised, "", ""))
	}
	return text
}

// option returns the option that says where other hosts reach the publisher, with a value.
func option(advertised bool, advertise, listen string) string {
	if advertised {
		return "--advertise" + advertise
	}
	return "--listen" + listen
}
