// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"sync"
	"time"
)

// turnstile lets one call at a time through to a storage, and does not wait for it longer
// than Patience.
type turnstile struct {
	turn chan struct{} // has a value while a call is on its way
}

func newTurnstile() *turnstile { return &turnstile{make(chan struct{}, 1)} }

// pass makes a call, and waits for it.
//
//   - gaveUp: runs when the call is no longer waited for, before late; it must not block.
//   - late: runs after such a call, before the next one.
//   - Errors: ErrSilent. If an earlier call is still on its way, this one is not made.
func (t *turnstile) pass(call, gaveUp, late func()) error {
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case t.turn <- struct{}{}:
	case <-timer.C:
		return ErrSilent
	}
	var mu sync.Mutex
	ended, alone := false, false
	done := make(chan struct{})
	go func() {
		call()
		mu.Lock()
		ended = true
		run := alone
		mu.Unlock()
		if run {
			late()
		}
		<-t.turn
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-timer.C:
	}
	mu.Lock()
	if !ended {
		alone = true
		gaveUp()
		mu.Unlock()
		return ErrSilent
	}
	mu.Unlock()
	<-done // it has ended at the last moment
	return nil
}
