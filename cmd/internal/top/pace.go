// SPDX-License-Identifier: Apache-2.0

package top

import (
	"syscall"
	"time"
)

// share is the part of a processor that looks take at most. A bus that needs more of it in
// each interval is looked at less often.
const share = 0.08

// pace says when to look again.
type pace struct {
	interval time.Duration
	used     func() time.Duration // processor time of the process so far

	began time.Time     // the last look; zero: none
	spent time.Duration // used, when the look before it was over; 0: there was none
}

// begin notes that a look begins.
func (p *pace) begin() { p.began = time.Now() }

// rest returns for how long to wait after a look. What the first one takes, with all its
// connections, does not count.
func (p *pace) rest() time.Duration {
	used, every := p.used(), p.interval
	if p.spent > 0 {
		every = max(every, time.Duration(float64(used-p.spent)/share))
	}
	p.spent = used
	return max(0, every-time.Since(p.began))
}

// processorTime returns what the process has used, in all threads, or 0 if the system does
// not say.
func processorTime() time.Duration {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
