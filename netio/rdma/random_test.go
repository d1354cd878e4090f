//go:build libfabric && cgo

package rdma_test

import (
	"fmt"
	"net/netip"
	"os"
	"testing"

	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/rdma"
)

// ownHost returns a loopback address for this process and port 0. The walks
// dial ports on which nobody listens any more, and those of 127.0.0.1 may have
// been given to the test of another process meanwhile.
func ownHost() netip.AddrPort {
	if provider() == rdma.ProviderVerbs {
		return loopback() // a device has its own addresses
	}
	pid := os.Getpid()
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, byte(100 + pid>>16), byte(pid >> 8), byte(pid)}), 0)
}

// TestRandomRun drives the backend at random against the suite's model. Each
// walk draws a netio.Config of its own.
func TestRandomRun(t *testing.T) {
	for _, buffers := range []int{0, 2} {
		t.Run(fmt.Sprintf("%d receive buffers", buffers), func(t *testing.T) {
			s := suite(rdma.Config{Provider: provider()})
			s.ListenAddr = ownHost()
			s.ReceiveBuffers = buffers
			s.Reset = func(a, _ netio.Endpoint) {
				if m, ok := a.(interface{ Unwrap() netio.Endpoint }); ok {
					a = m.Unwrap()
				}
				rdma.BreakConnection(a)
			}
			netiotest.RandomRun(t, s)
		})
	}
}
