// SPDX-License-Identifier: Apache-2.0

//go:build !libfabric || !cgo

package rdma

// Likely reports whether a program may find a device for the provider verbs here: one that was
// built without libfabric does not.
func Likely() bool { return false }
