// SPDX-License-Identifier: Apache-2.0

//go:build race

package tcp

import (
	"runtime"
	"unsafe"
)

// noteRead tells the race detector, which does not see what the system does, that mem,
// which is not empty, is read here.
func noteRead(mem []byte) {
	runtime.RaceReadRange(unsafe.Pointer(unsafe.SliceData(mem)), len(mem))
}
