// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/internal/advertise"
)

// changingHost is a host whose addresses change.
type changingHost struct {
	changed chan struct{}
	all     []netip.Addr
	watched int
}

func (h *changingHost) Addresses() ([]netip.Addr, error) { return h.all, nil }

func (h *changingHost) Watch() (<-chan struct{}, func()) {
	h.watched++
	return h.changed, func() { h.watched-- }
}

func (h *changingHost) become(all ...string) {
	h.all = nil
	for _, a := range all {
		h.all = append(h.all, netip.MustParseAddr(a))
	}
	h.changed <- struct{}{}
	synctest.Wait()
}

// TestPublisher_anAnnouncedAddressLeaves: it is told once, and when it is back; that of another host is
// not.
func TestPublisher_anAnnouncedAddressLeaves(t *testing.T) {
	listen, other := netip.MustParseAddrPort("10.9.0.1:7000"), netip.MustParseAddrPort("192.0.2.1:7000")
	for _, test := range []struct {
		name string
		l    advertise.Listener
	}{
		{"Listen", advertise.Listener{Listen: listen}},
		{"Advertise", advertise.Listener{Listen: netip.MustParseAddrPort("0.0.0.0:7000"), Advertise: []netip.AddrPort{listen, other}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host := &changingHost{changed: make(chan struct{}), all: []netip.Addr{listen.Addr()}}
				var told []string
				end := watchAddresses(host, advertise.Reach{Listeners: []advertise.Listener{test.l}}, func(events []Event) {
					for _, e := range events {
						told = append(told, fmt.Sprint(e.Kind, " ", e.Err))
					}
				})
				host.become("10.9.0.1", "127.0.0.1")
				host.become("10.9.0.77", "127.0.0.1")
				host.become("127.0.0.1")
				time.Sleep(time.Minute)
				host.become("10.9.0.1", "127.0.0.1")
				end()
				synctest.Wait()
				want := []string{
					"problem " + (&AddressGoneError{Addr: listen}).Error(),
					"problem " + (&AddressGoneError{Addr: listen, Over: true, Lasted: time.Minute}).Error(),
				}
				if !slices.Equal(told, want) || host.watched != 0 {
					t.Errorf("got %q and %d watches, want %q and none", told, host.watched, want)
				}
			})
		})
	}
}
