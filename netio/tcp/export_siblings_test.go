// SPDX-License-Identifier: Apache-2.0

package tcp

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

// SpreadBytes returns how much memory the loops of a closed backend use.
func SpreadBytes(b netio.Backend) (sum int) {
	for _, w := range b.(*spread.Backend).Workers() {
		used, _ := w.(*backend).memory.sizes()
		sum += used
	}
	return sum
}
