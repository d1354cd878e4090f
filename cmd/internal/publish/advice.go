package publish

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"tagbus/bus"
	"tagbus/node"
)

// announced returns the addresses that subscribers of a publisher are told.
func announced(n *node.Node, p *bus.Publisher) []netip.AddrPort {
	if !p.Addr().Addr().IsUnspecified() {
		return []netip.AddrPort{p.Addr()}
	}
	entries, _ := n.Directory().List() // the problems are of others: events tell
	for _, e := range entries {
		if e.Instance == p.Instance() {
			return e.Addresses
		}
	}
	return nil
}

// place says where a publisher can be reached, and from where, if that is not everywhere.
//
//   - listen: where it listens.
//   - announced: what subscribers are told.
func place(listen netip.AddrPort, announced []netip.AddrPort) string {
	text := listen.String()
	if listen.Addr().IsUnspecified() {
		var all []string
		for _, addr := range announced {
			all = append(all, addr.String())
		}
		if len(all) > 0 {
			text += ", announced as " + strings.Join(all, ", ")
		}
	}
	switch {
	case !onlyLoopback(announced):
		return text
	case listen.Addr().IsUnspecified():
		return text + ", which only this host can reach: it has no other address"
	default:
		return text + ", which only this host can reach (--listen)"
	}
}

// onlyLoopback reports whether no other host can reach any of the addresses.
func onlyLoopback(addresses []netip.AddrPort) bool {
	return len(addresses) > 0 && !slices.ContainsFunc(addresses, func(a netip.AddrPort) bool { return !a.Addr().Unmap().IsLoopback() })
}

// deserted says what to do about a run that no subscriber has taken part in.
//
//   - announced: what subscribers were told.
//   - refused: how many connections and subscriptions were refused.
func deserted(announced []netip.AddrPort, refused int64) string {
	switch {
	case refused > 0:
		return fmt.Sprintf("no subscription was accepted: refused %d times, for the reasons above", refused)
	case onlyLoopback(announced):
		return fmt.Sprintf("no subscriber came: from other hosts none can reach %v, --listen HOST:0 is for these; --wait-subscribers 1 waits for one", announced[0])
	default:
		return "no subscriber came before the end: --wait-subscribers 1 waits for one"
	}
}

// soFar says how many subscribers have come.
func soFar(subscribers string, none bool, announced []netip.AddrPort) string {
	text := fmt.Sprintf("still waiting: %s so far", subscribers)
	if none && onlyLoopback(announced) {
		text += fmt.Sprintf("; from other hosts none can reach %v (--listen)", announced[0])
	}
	return text
}
