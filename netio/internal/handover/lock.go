// SPDX-License-Identifier: Apache-2.0

package handover

import "sync"

// Lock is a mutex that does nothing in an Unsafe backend.
type Lock struct {
	off bool
	mu  sync.Mutex
}

// Lock implements sync.Locker.
func (l *Lock) Lock() {
	if !l.off {
		l.mu.Lock()
	}
}

// Unlock implements sync.Locker.
func (l *Lock) Unlock() {
	if !l.off {
		l.mu.Unlock()
	}
}
