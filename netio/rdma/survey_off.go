// SPDX-License-Identifier: Apache-2.0

//go:build !libfabric || !cgo

package rdma

// offered returns nothing, because this program was built without libfabric.
func offered() (version string, all []Fabric, err error) { return "", nil, nil }
