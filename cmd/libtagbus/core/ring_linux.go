// SPDX-License-Identifier: Apache-2.0

//go:build cgo

package core

import (
	"math"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ring wakes those that wait for a bell. It does not leave Go, as a call of C would: it is called
// on the loop, once for what came in a turn.
func ring(bell uintptr) {
	b := *(**struct{ value, waiters atomic.Uint32 })(unsafe.Pointer(&bell))
	b.value.Add(1)
	if b.waiters.Load() > 0 {
		const wake = 1 | 128 // FUTEX_WAKE, private
		_, _, _ = unix.RawSyscall(unix.SYS_FUTEX, bell, wake, math.MaxInt32)
	}
}
