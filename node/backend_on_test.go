// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package node_test

import (
	"cmp"
	"os"
)

// testBackend returns the backend under the tests that are not about one: with
// the provider of the environment variable NETIO_RDMA_PROV, or tcp, which runs
// everywhere.
func testBackend() string { return "rdma:" + cmp.Or(os.Getenv("NETIO_RDMA_PROV"), "tcp") }
