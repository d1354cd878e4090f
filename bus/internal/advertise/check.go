// SPDX-License-Identifier: Apache-2.0

package advertise

import (
	"fmt"
	"net/netip"

	"tagbus/bus/directory"
)

// Fault is what is wrong with addresses of a configuration.
type Fault struct {
	Addr   netip.AddrPort // that cannot be announced; the zero value: it is about all of them
	Reason string         // and what to announce instead
}

// Check returns what is wrong with the addresses to be announced. Port 0 is that of the
// listener.
func Check(addresses []netip.AddrPort) (faults []Fault) {
	const somePort = 1 // of a listener that is not open yet
	if n := len(addresses); n > directory.MaxAddresses {
		return []Fault{{Reason: fmt.Sprintf("got %d addresses, want at most %d", n, directory.MaxAddresses)}}
	}
	for _, addr := range addresses {
		if !addr.Addr().IsValid() {
			faults = append(faults, Fault{Reason: "an address is missing"})
		} else if reason := directory.Undialable(WithPort(addr, somePort)); reason != "" {
			faults = append(faults, Fault{addr, reason})
		}
	}
	return faults
}

// CheckMonitor returns why Reach.Monitor cannot be an address, or "".
func CheckMonitor(monitor netip.AddrPort) (reason string) {
	if monitor == (netip.AddrPort{}) || Unspecified(monitor) && monitor.Port() != 0 {
		return ""
	}
	return directory.Undialable(monitor)
}
