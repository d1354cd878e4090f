// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"net/netip"
	"os"
	"testing"

	"tagbus/node"
)

var backend = testBackend()

// listen is where publishers and receivers listen: on the address of the
// environment variable NETIO_RDMA_ADDR, as a device has its own, or by default.
func listen() netip.AddrPort {
	host := os.Getenv("NETIO_RDMA_ADDR")
	if host == "" || backend == "tcp" {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(netip.MustParseAddr(host), 0)
}

func openNode(tb testing.TB, dir string) *node.Node {
	tb.Helper()
	return openNodeWith(tb, node.Config{Bus: dir, Backend: backend})
}

func openNodeWith(tb testing.TB, cfg node.Config) *node.Node {
	tb.Helper()
	n, err := node.Open(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := n.Close(); err != nil {
			tb.Errorf("close node: %v", err)
		}
	})
	return n
}
