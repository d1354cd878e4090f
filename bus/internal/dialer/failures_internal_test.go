// SPDX-License-Identifier: Apache-2.0

package dialer

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
)

var errRefused = errors.New("connection refused")

// TestManyAddressesThatFailForOneCause have one line.
func TestManyAddressesThatFailForOneCause(t *testing.T) {
	failed := func(from, to int, cause error) (all []Failure) {
		for i := from; i < to; i++ {
			addr := Target{"tcp", netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 1, 0, byte(i)}), 7000)}
			all = append(all, Failure{addr, fmt.Errorf("open %v: %w", addr, cause)})
		}
		return all
	}
	late := errors.New("timed out")
	for _, test := range []struct {
		all  []Failure
		want string
	}{
		{failed(1, 2, errRefused), "open 10.1.0.1:7000: connection refused"},
		{failed(1, 4, errRefused), "open 10.1.0.1:7000: connection refused\nopen 10.1.0.2:7000: connection refused\nopen 10.1.0.3:7000: connection refused"},
		{failed(1, 65, errRefused), "open 10.1.0.1:7000, 10.1.0.2:7000, 10.1.0.3:7000 and 61 more: connection refused"},
		{
			append(failed(1, 2, late), failed(2, 65, errRefused)...),
			"open 10.1.0.1:7000: timed out\nopen 10.1.0.2:7000, 10.1.0.3:7000, 10.1.0.4:7000 and 60 more: connection refused",
		},
	} {
		err := &failures{test.all}
		if got := err.Error(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
		if n := len(err.Unwrap()); n != len(test.all) || !errors.Is(err, errRefused) {
			t.Errorf("got %d errors, want %d with %v", n, len(test.all), errRefused)
		}
	}
	plain := new(failures)
	for i := range 5 {
		plain.all = append(plain.all, Failure{Target{"tcp", netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(i))}, errRefused})
	}
	if got, want := plain.Error(), "0.0.0.0:0, 0.0.0.0:1, 0.0.0.0:2 and 2 more: connection refused"; got != want {
		t.Errorf("without addresses: got %q, want %q", got, want)
	}
}
