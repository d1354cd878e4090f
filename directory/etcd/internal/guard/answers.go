// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"tagbus/internal/sanitize"
)

// What a member holds of answers that are made, or that their callers have not taken, bytes. An answer
// is kept whole until its last byte is on its way, so that a caller that asks and does not read would
// take all memory. A caller is what Addr.Account says.
const (
	heldInAll     = 256 << 20
	heldForCaller = 64 << 20

	longestEntry  = 1536 << 10        // that a member takes, which member.MaxEntry says too
	longestAnswer = 16 * longestEntry // to one read
	maxWaiting    = 1 << 12           // requests of one caller that wait for room
	patience      = 10 * time.Second  // with an answer that is not taken, and with a request that waits
	smallAnswer   = 64 << 10          // that is not counted: as much as gRPC holds of a stream anyway
)

// answers counts what a member holds of answers. The zero value holds nothing.
//
// Threads: any.
type answers struct {
	mutex    sync.Mutex
	held     int
	accounts map[any]*account
}

// account is what one caller has.
type account struct {
	held    int
	waiting []*wait // the first one is the next one
}

// wait is a request that waits for room.
type wait struct {
	bytes int
	ready chan struct{} // closed: it has the bytes
}

// fits reports whether an account may have more. mutex is held.
func (a *answers) fits(of *account, bytes int) bool {
	return of.held+bytes <= heldForCaller && a.held+bytes <= heldInAll
}

// hasRoom reports whether a request of a caller has room at once.
func (a *answers) hasRoom(at *Addr, bytes int) bool {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	of := a.accounts[at.Account]
	if of == nil {
		of = new(account)
	}
	return len(of.waiting) == 0 && a.fits(of, bytes)
}

// take counts bytes of a caller, once there is room for them.
//
//   - Errors: of gRPC, if there is none in time.
func (a *answers) take(ctx context.Context, at *Addr, bytes int) (*held, error) {
	a.mutex.Lock()
	if a.accounts == nil {
		a.accounts = make(map[any]*account)
	}
	of := a.accounts[at.Account]
	if of == nil {
		of = new(account)
		a.accounts[at.Account] = of
	}
	h := &held{of: a, at: at, bytes: bytes, written: make(chan struct{})}
	if len(of.waiting) == 0 && a.fits(of, bytes) {
		of.held += bytes
		a.held += bytes
		a.mutex.Unlock()
		return h, nil
	}
	if len(of.waiting) >= maxWaiting {
		a.mutex.Unlock()
		return nil, errUntaken(at)
	}
	w := &wait{bytes, make(chan struct{})}
	of.waiting = append(of.waiting, w)
	a.mutex.Unlock()
	return h, a.await(ctx, at, w)
}

// await waits until a request has its bytes. If it fails, it has none.
func (a *answers) await(ctx context.Context, at *Addr, w *wait) (err error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
		err = status.FromContextError(ctx.Err()).Err()
	case <-timer.C:
		err = errUntaken(at)
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	select {
	case <-w.ready: // meanwhile
		a.give(at.Account, w.bytes)
	default:
		of := a.accounts[at.Account]
		i := slices.Index(of.waiting, w)
		of.waiting = slices.Delete(of.waiting, i, i+1)
		a.serve() // those behind it may need less
	}
	return err
}

// errUntaken is the error for a request of a caller that does not take its answers.
func errUntaken(at *Addr) error {
	return status.Error(codes.ResourceExhausted, Prefix+sanitize.Line(at.Caller.String()+
		" has asked for more than it takes: at most 64 MiB of answers are held for a caller, and 256 MiB for all; read the answers, and ask with a smaller limit"))
}

// give takes bytes off an account. mutex is held.
func (a *answers) give(key any, bytes int) {
	a.accounts[key].held -= bytes
	a.held -= bytes
	a.serve()
}

// serve lets those go on for which there is room, and forgets accounts with nothing. mutex is held.
func (a *answers) serve() {
	for key, of := range a.accounts {
		for len(of.waiting) > 0 && a.fits(of, of.waiting[0].bytes) {
			w := of.waiting[0]
			of.waiting = of.waiting[1:]
			of.held += w.bytes
			a.held += w.bytes
			close(w.ready)
		}
		if of.held == 0 && len(of.waiting) == 0 {
			delete(a.accounts, key)
		}
	}
}

// held is what is counted for one answer.
type held struct {
	of      *answers
	at      *Addr
	bytes   int
	done    atomic.Bool
	written chan struct{} // closed: done
}

// shrink counts fewer bytes, now that it is known how many there are.
func (h *held) shrink(bytes int) {
	h.of.mutex.Lock()
	defer h.of.mutex.Unlock()
	if bytes < h.bytes && !h.done.Load() {
		h.of.give(h.at.Account, h.bytes-bytes)
		h.bytes = bytes
	}
}

// release ends that the answer is held. Idempotent.
func (h *held) release() {
	if h.done.Swap(true) {
		return
	}
	close(h.written)
	h.of.mutex.Lock()
	defer h.of.mutex.Unlock()
	h.of.give(h.at.Account, h.bytes)
}

// watch ends the connection of a caller that does not take its answer, and releases the answer of one
// that has ended: gRPC forgets then that it has it. It returns at once.
func (h *held) watch() {
	go func() {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-h.written:
		case <-h.at.Ended:
		case <-timer.C:
			h.at.Cut()
		}
		h.release()
	}()
}
