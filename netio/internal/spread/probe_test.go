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
