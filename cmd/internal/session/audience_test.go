// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"net/netip"
	"testing"

	"tagbus/bus"
	"tagbus/cmd/internal/session"
)

func TestTheAdviceWithoutSubscribersFitsWhatHasHappened(t *testing.T) {
	loopback := []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:5")}
	outside := append([]netip.AddrPort{netip.MustParseAddrPort("10.0.0.7:5")}, loopback...)
	for _, test := range []struct {
		name              string
		audience          *session.Audience
		announced         []netip.AddrPort
		refused           int
		soFar             int
		deserted, waiting string
	}{
		{
			"none came", new(session.Audience), outside, 0, 0,
			"no subscriber came before the end: --wait-subscribers 1 waits for one", "still waiting: 0 subscribers so far",
		},
		{
			"none can come from elsewhere", new(session.Audience), loopback, 0, 0,
			"no subscriber came: from other hosts none can reach 127.0.0.1:5, --listen HOST:0 is for these; --wait-subscribers 1 waits for one",
			"still waiting: 0 subscribers so far; from other hosts none can reach 127.0.0.1:5 (--listen)",
		},
		{
			"none is told how to come from elsewhere", &session.Audience{Advertised: true}, loopback, 0, 0,
			"no subscriber came: from other hosts none can reach 127.0.0.1:5, --advertise HOST is for these; --wait-subscribers 1 waits for one",
			"still waiting: 0 subscribers so far; from other hosts none can reach 127.0.0.1:5 (--advertise)",
		},
		{
			"the network is down", &session.Audience{Everywhere: true}, loopback, 0, 0,
			"no subscriber came: from other hosts none can reach 127.0.0.1:5, and this host has no address that they reach: look after its network; --wait-subscribers 1 waits for one",
			"still waiting: 0 subscribers so far; from other hosts none can reach 127.0.0.1:5, and this host has no address that they reach",
		},
		{
			"they were refused, and others are waited for", new(session.Audience), loopback, 2, 1,
			"no subscription was accepted: refused 2 times, for the reasons above", "still waiting: 1 subscriber so far",
		},
	} {
		a := test.audience
		a.See(bus.Event{Kind: bus.Announced, Addresses: test.announced})
		for range test.refused {
			a.See(bus.Event{Kind: bus.Refused})
		}
		if got := a.Deserted(); got != test.deserted {
			t.Errorf("%s: got %q, want %q", test.name, got, test.deserted)
		}
		if got := a.SoFar(test.soFar); got != test.waiting {
			t.Errorf("%s, waiting: got %q, want %q", test.name, got, test.waiting)
		}
	}
}
