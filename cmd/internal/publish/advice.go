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
//   - refused: how many connections and subscriptions were refused.
func deserted(announced []netip.AddrPort, refused int64) string {
	switch {
	case refused > 0:
		return fmt.Sprintf("no subscription was accepted: refused %d times, for the reasons above", refused)
	case cli.OnlyLoopback(announced):
		return fmt.Sprintf("no subscriber came: from other hosts none can reach %v, --listen HOST:0 is for these; --wait-subscribers 1 waits for one", announced[0])
	default:
		return "no subscriber came before the end: --wait-subscribers 1 waits for one"
	}
}

// soFar says how many subscribers have come.
func soFar(subscribers string, none bool, announced []netip.AddrPort) string {
	text := fmt.Sprintf("still waiting: %s so far", subscribers)
	if none && cli.OnlyLoopback(announced) {
		text += fmt.Sprintf("; from other hosts none can reach %v (--listen)", announced[0])
	}
	return text
}
