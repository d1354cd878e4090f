// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"net/netip"
	"testing"
)

func addresses(texts ...string) (all []netip.AddrPort) {
	for _, text := range texts {
		all = append(all, netip.MustParseAddrPort(text))
	}
	return all
}

// An internal test: what a host has for addresses cannot be brought about from outside.
func TestTheAdviceWithoutSubscribersFitsWhatHasHappened(t *testing.T) {
	outside, loopback := addresses("10.0.0.7:5", "127.0.0.1:5"), addresses("127.0.0.1:5")
	for _, test := range []struct{ name, got, want string }{
		{"none came", deserted(where{announced: outside, advertised: false}, 0), "no subscriber came before the end: --wait-subscribers 1 waits for one"},
		{"none can come from elsewhere", deserted(where{announced: loopback, advertised: false}, 0), "no subscriber came: from other hosts none can reach 127.0.0.1:5, --listen HOST:0 is for these; --wait-subscribers 1 waits for one"},
		{"none is told how to come from elsewhere", deserted(where{announced: loopback, advertised: true}, 0), "no subscriber came: from other hosts none can reach 127.0.0.1:5, --advertise HOST is for these; --wait-subscribers 1 waits for one"},
		{"the network is down", deserted(where{announced: loopback, everywhere: true}, 0), "no subscriber came: from other hosts none can reach 127.0.0.1:5, and this host has no address that they reach: look after its network; --wait-subscribers 1 waits for one"},
		{"waiting while the network is down", soFar("0 subscribers", true, where{announced: loopback, everywhere: true}), "still waiting: 0 subscribers so far; from other hosts none can reach 127.0.0.1:5, and this host has no address that they reach"},
		{"they were refused", deserted(where{announced: loopback, advertised: false}, 2), "no subscription was accepted: refused 2 times, for the reasons above"},
		{"waiting", soFar("0 subscribers", true, where{announced: outside, advertised: false}), "still waiting: 0 subscribers so far"},
		{"waiting where none can come from elsewhere", soFar("0 subscribers", true, where{announced: loopback, advertised: false}), "still waiting: 0 subscribers so far; from other hosts none can reach 127.0.0.1:5 (--listen)"},
		{"waiting where none is told how to come from elsewhere", soFar("0 subscribers", true, where{announced: loopback, advertised: true}), "still waiting: 0 subscribers so far; from other hosts none can reach 127.0.0.1:5 (--advertise)"},
		{"waiting for others", soFar("1 subscriber", false, where{announced: loopback, advertised: false}), "still waiting: 1 subscriber so far"},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, test.got, test.want)
		}
	}
}
