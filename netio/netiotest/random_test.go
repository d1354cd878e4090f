package netiotest_test

import (
	"net/netip"
	"testing"

	"tagbus/netio/netiotest"
)

func TestMemoryMatchesTheModel(t *testing.T) {
	n := netiotest.NewNetwork()
	netiotest.RandomRun(t, memorySuite(n, netiotest.Config{}, nil))
	if got := n.Violations(); len(got) > 0 {
		t.Errorf("Violations: got %q, want none", got)
	}
}

func TestMemoryWithNarrowWindowsMatchesTheModel(t *testing.T) {
	l := netiotest.NewLoop()
	defer l.Close()
	n := netiotest.NewNetwork()
	n.SetWindow(netip.AddrPort{}, netip.AddrPort{}, 5000)
	netiotest.RandomRun(t, memorySuite(n, netiotest.Config{}, l))
}
