// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"fmt"
	"testing"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio/netiotest"
	"tagbus/netio/rdma"
)

// TestRandomRun drives the backend at random against the suite's model. Each
// walk draws a netio.Config of its own.
func TestRandomRun(t *testing.T) {
	t.Run("the first use of a device", load) // its library keeps it open until the process ends
	for _, buffers := range netiotest.Few([]int{0, 2}, []int{2}) {
		t.Run(fmt.Sprintf("%d receive buffers", buffers), func(t *testing.T) {
			s := suite(rdma.Config{Provider: provider()})
			if provider() != rdma.ProviderVerbs { // a device has its own addresses
				s.ListenAddr = backendtest.OwnHost()
			}
			s.ReceiveBuffers = buffers
			s.Reset = backendtest.Reset(rdma.BreakConnection)
			netiotest.RandomRun(t, s)
		})
	}
}
