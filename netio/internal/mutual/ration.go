// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mutual

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// workerShare is the part of the processors that handshakes may use at once, and
	// failureShare the part that those may use over time that fail: any stranger can begin
	// one, for which this side computes more than the stranger. One that succeeds has shown
	// a certificate, and costs nothing of it: so all subscribers of a large site may come
	// back at once.
	workerShare  = 4
	failureShare = 16

	// burst is how much of the second share is saved while few handshakes fail. It pays for
	// those that are under way.
	burst = 500 * time.Millisecond

	// typicalCost is what a handshake takes of a slow processor, about: what those that are under way
	// will cost is not known before they wait for their peers.
	typicalCost = 2 * time.Millisecond

	// HandshakeBytes is how much an accepted peer sends in its handshake. Chains of certificates
	// have a few thousand bytes, and crypto/tls takes a quarter of a megabyte.
	HandshakeBytes = 64 << 10
)

// Ration bounds the processor time of handshakes.
//
// Threads: any.
type Ration struct {
	workers chan struct{} // as many elements as goroutines compute

	mu      sync.Mutex
	clock   func() time.Time
	rate    float64       // processors
	balance time.Duration // processor time that is left for strangers; below 0: it is used up
	at      time.Time     // of the balance
}

// NewRation returns one for so many processors, with a clock.
func NewRation(processors int, clock func() time.Time) *Ration {
	r := &Ration{
		workers: make(chan struct{}, max(1, processors/workerShare)),
		clock:   clock, rate: float64(processors) / failureShare, at: clock(),
	}
	r.balance = r.most()
	return r
}

func (r *Ration) most() time.Duration { return time.Duration(r.rate * float64(burst)) }

// wait returns how long no handshake of a stranger may begin; 0: one may.
//
//   - under: how many are under way.
func (r *Ration) wait(under int) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.save()
	left := r.balance - time.Duration(under)*typicalCost
	if left > 0 {
		return 0
	}
	return time.Duration(float64(-left)/r.rate) + time.Microsecond
}

// pay takes processor time from the balance, or gives it back if it is below 0. The debt is bounded, or
// strangers whose handshakes are dear would keep all others waiting for seconds.
func (r *Ration) pay(spent time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.save()
	r.balance = max(min(r.balance-spent, r.most()), -r.most())
}

// save adds what has come to the balance since the last call. mu is held.
func (r *Ration) save() {
	now := r.clock()
	r.balance = min(r.balance+time.Duration(float64(now.Sub(r.at))*r.rate), r.most())
	r.at = now
}

// Tune sets the processors for strangers, and what of their time is left for now, which tests of
// backends cannot wait for. A rate of 0 stays as it is.
func (r *Ration) Tune(rate float64, left func(rate float64) time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.save()
	if rate > 0 {
		r.rate = rate
	}
	r.balance = left(r.rate)
}

// Work is what a goroutine computes between two waits for its peer.
type Work struct {
	Ration *Ration
	Free   bool // it is this side that has dialled

	begun time.Duration // processor time of the thread
	spent time.Duration // of all parts
}

// Begin waits for a processor.
func (w *Work) Begin() {
	w.Ration.workers <- struct{}{}
	runtime.LockOSThread() // whose time is measured: the goroutine may have to wait for a processor of the runtime
	w.begun = threadTime()
}

// End gives the processor back.
func (w *Work) End() {
	spent := threadTime() - w.begun
	runtime.UnlockOSThread()
	<-w.Ration.workers
	w.spent += spent
	if !w.Free {
		w.Ration.pay(spent)
	}
}

// Succeed gives back what a handshake has cost that has not failed.
func (w *Work) Succeed() {
	if !w.Free {
		w.Ration.pay(-w.spent)
	}
}

// threadTime returns the processor time of the thread.
func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // every Linux has it
	return time.Duration(t.Nano())
}
