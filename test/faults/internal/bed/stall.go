// SPDX-License-Identifier: Apache-2.0

//go:build linux

package bed

import (
	"runtime"
	"sync"
	"time"
)

func lockThread() { runtime.LockOSThread() }

// stallTick is how often the machine is looked at.
const stallTick = 20 * time.Millisecond

// Stalls measures how long the machine stands still: how late a timer is.
type Stalls struct {
	mu    sync.Mutex
	total time.Duration
	worst time.Duration
}

// NewStalls returns a measurement that goes on as long as the program.
func NewStalls() *Stalls {
	s := &Stalls{}
	go func() {
		for last := time.Now(); ; {
			<-time.After(stallTick)
			late := time.Since(last) - stallTick
			last = time.Now()
			s.mu.Lock()
			if late > stallTick { // less is how timers are
				s.total += late
			}
			s.worst = max(s.worst, late)
			s.mu.Unlock()
		}
	}()
	return s
}

// Total returns for how long the machine has stood still since the beginning.
func (s *Stalls) Total() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.total
}

// Worst returns the longest time that it did.
func (s *Stalls) Worst() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.worst
}
