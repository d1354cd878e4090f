// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"fmt"
	"net/netip"

	"tagbus/bus/directory"
	"tagbus/bus/internal/reach"
	"tagbus/bus/state"
	"tagbus/internal/check"
	"tagbus/internal/plain"
)

// AdvertiseError says what is wrong with PublisherConfig.Advertise or
// ReceiverConfig.Advertise. It is an ErrInvalidConfig.
type AdvertiseError struct {
	Addr   netip.AddrPort // that cannot be announced; the zero value: it is about all of them
	Reason string         // and what to announce instead
}

// Error names the address and the reason.
func (e *AdvertiseError) Error() string {
	if !e.Addr.Addr().IsValid() {
		return plain.Linef("%v: Advertise: %s", ErrInvalidConfig, e.Reason)
	}
	return plain.Linef("%v: Advertise: %v %s", ErrInvalidConfig, e.Addr, e.Reason)
}

// Unwrap returns ErrInvalidConfig.
func (*AdvertiseError) Unwrap() error { return ErrInvalidConfig }

// checkAdvertise adds what is wrong with the addresses to be announced. Port 0 is that
// of the listener.
func checkAdvertise(v *check.Violations, addresses []netip.AddrPort) {
	if n := len(addresses); n > directory.MaxAddresses {
		v.Join(&AdvertiseError{Reason: fmt.Sprintf("got %d addresses, want at most %d", n, directory.MaxAddresses)})
		return
	}
	for _, addr := range addresses {
		if !addr.Addr().IsValid() {
			v.Join(&AdvertiseError{Reason: "an address is missing"})
			continue
		}
		if reason := directory.Undialable(reach.WithPort(addr, somePort)); reason != "" {
			v.Join(&AdvertiseError{Addr: addr, Reason: reason})
		}
	}
}

// checkMonitor adds what is wrong with the address of the monitor.
func checkMonitor(v *check.Violations, monitor netip.AddrPort) {
	if monitor == (netip.AddrPort{}) || reach.Unspecified(monitor) && monitor.Port() != 0 {
		return
	}
	if reason := directory.Undialable(monitor); reason != "" {
		v.Add("Monitor is %v, which %s", monitor, reason)
	}
}

// place is where others reach a listener and the process around it.
type place struct {
	addresses []netip.AddrPort
	monitor   netip.AddrPort // the zero value: none
}

// newPlace returns what is to be announced for a listener.
//
// Errors: those of the system.
func newPlace(advertise []netip.AddrPort, monitor, listen netip.AddrPort) (*place, error) {
	addresses, err := reach.Addresses(advertise, listen)
	if err != nil {
		return nil, err
	}
	monitor, err = reach.Monitor(monitor, addresses)
	return &place{addresses, monitor}, err
}

// show adds p, if it is not nil, to a state.
func (p *place) show(st *state.State) {
	if p == nil {
		return
	}
	for _, addr := range p.addresses {
		st.Addresses = append(st.Addresses, addr.String())
	}
	if p.monitor.IsValid() {
		st.Monitor = p.monitor.String()
	}
}

// somePort stands for the port of a listener that is not open yet.
const somePort = 1
