// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"context"
	"fmt"
	"sync"

	"tagbus/bus/directory"
)

// withdrawal takes an entry out of the directory, beside all else that ends: the storage
// may take its time, and peers must not wait for it.
//
// Threads: any.
type withdrawal struct {
	mu      sync.Mutex
	running chan struct{} // closed when it has ended; nil: not begun
	err     error         // that was not returned yet
}

// begin begins it, once.
func (w *withdrawal) begin(r directory.Registration, trouble *Trouble) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running != nil {
		return
	}
	running := make(chan struct{})
	w.running = running
	go func() {
		err := r.Withdraw()
		trouble.set(nil) // nothing is reported after Withdraw
		if err != nil {
			err = fmt.Errorf("bus: the entry cannot be withdrawn, so that others find it until it has expired: %w", err)
		}
		w.mu.Lock()
		w.err = err
		w.mu.Unlock()
		close(running)
	}()
}

// begun reports whether it has begun.
func (w *withdrawal) begun() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.running != nil
}

// Wait returns when the entry is out of the directory, or cannot be withdrawn. If Withdraw was
// not called, or nothing announced, it returns at once.
//
// Errors: the directory's, wrapped, once; the cause of the end of ctx, wrapped.
func (w *withdrawal) Wait(ctx context.Context) error {
	w.mu.Lock()
	running := w.running
	w.mu.Unlock()
	if running == nil {
		return nil
	}
	select {
	case <-running:
	default:
		select {
		case <-running:
		case <-ctx.Done():
			return fmt.Errorf("bus: drain: the entry is still in the directory: %w", context.Cause(ctx))
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.err
	w.err = nil
	return err
}
