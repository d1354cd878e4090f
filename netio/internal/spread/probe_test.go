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

// Path implements netio.PathMeasurer.
func (e *fakeEndpoint) Path() (netio.Path, bool) {
	return netio.Path{RoundTrip: e.away, Retransmitted: 7}, e.away > 0
}

// What is measured of an endpoint is what its worker's endpoint measures.
func TestThePathIsTheWorkers(t *testing.T) {
	inner, ep := newBed(t, reactor.Config{}, 1).accept(t)
	inner.away = 3 * time.Millisecond
	if got, ok := ep.(netio.PathMeasurer).Path(); !ok || got != (netio.Path{RoundTrip: inner.away, Retransmitted: 7}) {
		t.Errorf("got %v, %t, want that of the worker's", got, ok)
	}
	inner.away = 0
	if got, ok := ep.(netio.PathMeasurer).Path(); ok {
		t.Errorf("got %v, want nothing, as the worker's", got)
	}
}
