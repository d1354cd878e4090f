// SPDX-License-Identifier: Apache-2.0

package spread_test

import (
	"testing"
	"time"

	"tagbus/netio"
	"tagbus/netio/reactor"
)

// ProbeAfter implements netio.Prober.
func (e *fakeEndpoint) ProbeAfter(silence time.Duration) { e.probed = silence }

func TestTheEndpointOfTheWorkerIsToldWhenToProbe(t *testing.T) {
	inner, ep := newBed(t, reactor.Config{}, 1).accept(t)
	ep.(netio.Prober).ProbeAfter(time.Minute)
	if inner.probed != time.Minute {
		t.Errorf("got probes after %v, want 1m", inner.probed)
	}
}

// RoundTrip implements netio.RoundTripper.
func (e *fakeEndpoint) RoundTrip() time.Duration { return e.away }

// The round trip of an endpoint is the one that its worker's endpoint measures.
func TestTheRoundTripIsTheWorkers(t *testing.T) {
	inner, ep := newBed(t, reactor.Config{}, 1).accept(t)
	inner.away = 3 * time.Millisecond
	if got := ep.(netio.RoundTripper).RoundTrip(); got != inner.away {
		t.Errorf("got %v, want %v", got, inner.away)
	}
}
