// SPDX-License-Identifier: Apache-2.0

package load

import (
	"math"
	"runtime"

	"golang.org/x/sys/unix"
)

// commandInterval is the time between two messages on tag 1, see Options.Command.
const commandInterval = 10e6

// openLoop publishes at a fixed rate, whatever the system does: each message has
// the time from which its latency counts, so that waiting for the system is part
// of it.
func openLoop(o Options, s System) PubResult {
	sender, commander := s.Sender(o), s.Sender(o)
	total, burst := uint64(o.Seconds*o.Rate), uint64(max(1, o.Burst))
	result := PubResult{StartNS: Now() + 1e6}
	command, commands, tags := int64(math.MaxInt64), uint64(0), uint64(o.Tags)
	if o.Command > 0 {
		small := o
		small.Size = o.Command
		commander, command, tags = s.Sender(small), result.StartNS, 1
	}
	for i := uint64(0); i < total; {
		due := result.StartNS + int64(float64(i)*1e9/o.Rate)
		if command < due {
			commander.Publish(1, commands, 1, wait(o, s, command))
			commands++
			command += commandInterval
			continue
		}
		due = wait(o, s, due)
		if o.Command > 0 {
			due = 0
		}
		for end := min(i+burst, total); i < end; i++ {
			sender.Publish(int(i%tags), i/tags, uint32(i%tags), due)
		}
	}
	result.Sent, result.EndNS = total+commands, Now()
	return result
}

// wait waits until something is due, and returns from when on its latency counts:
// from when it was due, so that a publisher that the system has held up omits
// nothing. One that was not held up and sleeps wakes some 50 to 100 µs late, which
// is no system's doing: then it counts from when it has woken.
func wait(o Options, s System, due int64) int64 {
	if Now() < due && s.Idle != nil {
		s.Idle()
	}
	if o.Burst == 0 {
		for Now() < due {
			if o.Yield {
				runtime.Gosched()
			}
		}
		return due
	}
	if Now() >= due {
		return due
	}
	sleepUntil(due)
	return Now()
}

// sleepUntil waits in a system call, as a program that reads a device does.
// time.Sleep takes a millisecond at least when nothing else happens.
func sleepUntil(due int64) {
	at := unix.NsecToTimespec(due)
	for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &at, nil) == unix.EINTR {
	}
}
