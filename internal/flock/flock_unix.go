// SPDX-License-Identifier: Apache-2.0

//go:build unix

package flock

import (
	"errors"
	"os"
	"syscall"
)

// lock reports whether no other process stands against it.
func lock(f *os.File, h how) bool {
	operation := map[how]int{unlocked: syscall.LOCK_UN, shared: syscall.LOCK_SH, exclusive: syscall.LOCK_EX}[h]
	return !errors.Is(syscall.Flock(int(f.Fd()), operation|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
