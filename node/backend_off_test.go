// SPDX-License-Identifier: Apache-2.0

//go:build !libfabric || !cgo

package node_test

// testBackend returns the backend under the tests that are not about one.
func testBackend() string { return "tcp" }
