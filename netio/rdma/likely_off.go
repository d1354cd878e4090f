// SPDX-License-Identifier: Apache-2.0

//go:build !libfabric || !cgo

package rdma

// Likely returns the devices of this host that the provider verbs may have: a program that was
// built without libfabric has none.
func Likely() []string { return nil }
