// SPDX-License-Identifier: Apache-2.0

package memnet_test

import (
	"net/netip"
	"testing"

	"tagbus/internal/testkit/memnet"
	"tagbus/netio/netiotest"
)

func TestMemoryMatchesTheModel(t *testing.T) {
	n := memnet.New()
	netiotest.RandomRun(t, memorySuite(n, memnet.Config{}, nil))
	if got := n.Violations(); len(got) > 0 {
		t.Errorf("Violations: got %q, want none", got)
	}
}

func TestMemoryWithNarrowWindowsMatchesTheModel(t *testing.T) {
	l := memnet.NewLoop()
	defer l.Close()
	n := memnet.New()
	n.SetWindow(netip.AddrPort{}, netip.AddrPort{}, 5000)
	netiotest.RandomRun(t, memorySuite(n, memnet.Config{Direct: inPart}, l))
}
