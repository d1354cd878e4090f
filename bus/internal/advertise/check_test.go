// SPDX-License-Identifier: Apache-2.0

package advertise_test

import (
	"net/netip"
	"strings"
	"testing"

	"tagbus/bus/directory"
	"tagbus/bus/internal/advertise"
)

func TestCheck(t *testing.T) {
	good, any4 := netip.MustParseAddrPort("10.0.0.1:0"), netip.MustParseAddrPort("0.0.0.0:7")
	for _, x := range []struct {
		name      string
		addresses []netip.AddrPort
		want      []string // of the address, and in the reason, of each fault
	}{
		{"none", nil, nil},
		{"good ones", []netip.AddrPort{good, netip.MustParseAddrPort("[2001:db8::1]:7")}, nil},
		{"one of no host", []netip.AddrPort{good, any4, {}}, []string{"0.0.0.0:7", "cannot be dialled", "invalid", "missing"}},
		{"too many", make([]netip.AddrPort, directory.MaxAddresses+1), []string{"invalid", "want at most"}},
	} {
		faults := advertise.Check(x.addresses)
		if len(faults) != len(x.want)/2 {
			t.Errorf("%s: got %v, want %d faults", x.name, faults, len(x.want)/2)
			continue
		}
		for i, f := range faults {
			if !strings.Contains(f.Addr.String(), x.want[2*i]) || !strings.Contains(f.Reason, x.want[2*i+1]) {
				t.Errorf("%s: got %v %q, want %q", x.name, f.Addr, f.Reason, x.want[2*i:2*i+2])
			}
		}
	}
}

func TestCheckMonitor(t *testing.T) {
	for addr, wrong := range map[string]bool{"10.0.0.1:7": false, "0.0.0.0:7": false, "[::%eth0]:7": false, "10.0.0.1:0": true, "0.0.0.0:0": true, "224.0.0.1:7": true} {
		if got := advertise.CheckMonitor(netip.MustParseAddrPort(addr)); (got != "") != wrong {
			t.Errorf("%s: got %q, want a reason: %v", addr, got, wrong)
		}
	}
	if got := advertise.CheckMonitor(netip.AddrPort{}); got != "" {
		t.Errorf("none: got %q", got)
	}
}
