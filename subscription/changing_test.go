// SPDX-License-Identifier: Apache-2.0

package subscription_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/netio"
	"tagbus/subscription"
)

// TestDecode_readsWhatItHasChecked: a peer in shared memory changes a message while it is
// decoded, from one that is in order to one that announces 64 MiB, and back.
func TestDecode_readsWhatItHasChecked(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector reports this race of two processes")
	}
	mem, err := netio.AllocRegion(4096)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = netio.FreeRegion(mem) }()
	good := unhex(t, "10 82"+idKey+"01"+setKey+"c600000000")
	n := copy(mem, good)
	b, length := mem[:n], &mem[n-4]
	var end atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !end.Load() {
			*length ^= 4 // of a length of 4 bytes, the highest first
		}
	})
	defer wg.Wait()
	defer end.Store(true)
	const rounds, most = 20_000, 2 << 10
	if got := allocated(func() {
		for range rounds {
			_, err := subscription.Decode(b)
			if control := (*subscription.ControlError)(nil); err != nil && !errors.As(err, &control) {
				t.Errorf("got %v, want none or a *ControlError", err)
			}
		}
	}); got > rounds*most {
		t.Errorf("got %d bytes allocated for %d messages of %d bytes, want at most %d each", got, rounds, n, most)
	}
}

// TestDecodeRefused_ofAnotherMessage: what began as a refusal may be another message when
// it is decoded.
func TestDecodeRefused_ofAnotherMessage(t *testing.T) {
	refused, err := subscription.Append(nil, &subscription.Refused{Reason: "no"})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := subscription.DecodeRefused(refused); err != nil || m.Reason != "no" {
		t.Errorf("a refusal: got %+v, %v; want its reason", m, err)
	}
	beat, err := subscription.Append(nil, &subscription.Beat{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{beat, refused[:2], nil} {
		if m, err := subscription.DecodeRefused(b); m != nil || !errors.As(err, new(*subscription.ControlError)) {
			t.Errorf("%x: got %+v, %v; want a *ControlError", b, m, err)
		}
	}
}
