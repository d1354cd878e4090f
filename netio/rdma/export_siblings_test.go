// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"tagbus/netio"
	"tagbus/netio/internal/spread"
)

// Loads returns how many endpoints each loop of a backend has.
func Loads(b netio.Backend) (all []int64) {
	for _, w := range b.(*spread.Backend).Workers() {
		all = append(all, w.(*backend).load.Load())
	}
	return all
}
