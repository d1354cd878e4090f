// SPDX-License-Identifier: Apache-2.0

package run

import (
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tagbus/bench/internal/load"
)

// ticksPerSecond is the unit of /proc/stat.
const ticksPerSecond = 100

// busy is the processor time that the machine has used since it started, without
// that of interrupts: much of them is ours, and how much is not known.
func busy() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line) // cpu user nice system idle iowait irq softirq steal …
	var ticks int64
	for _, at := range []int{1, 2, 3, 8} {
		if at < len(fields) {
			n, _ := strconv.ParseInt(fields[at], 10, 64)
			ticks += n
		}
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond
}

// quiet waits until the machine is idle: at most share of its processors used
// over a sample. It gives up after limit, and does not begin without one; it
// returns how long it has waited, the sample itself left out.
func quiet(limit time.Duration, share float64) time.Duration {
	const sample = 200 * time.Millisecond
	if limit <= 0 {
		return 0
	}
	tick := time.NewTicker(sample)
	defer tick.Stop()
	start, before := time.Now(), busy()
	for {
		<-tick.C
		now := busy()
		used := (now - before).Seconds() / sample.Seconds() / float64(runtime.NumCPU())
		if waited := time.Since(start) - sample; used <= share || waited >= limit {
			return max(0, waited)
		}
		before = now
	}
}

// bind binds this thread, and so what it starts, to the last processor that it may
// use for a subscriber, and to the first one for all others. The result frees it.
func bind(role string) (free func(), err error) {
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return nil, err
	}
	var allowed []int
	for i := range 8 * len(all) * int(unsafe.Sizeof(all[0])) {
		if all.IsSet(i) {
			allowed = append(allowed, i)
		}
	}
	one.Set(allowed[0])
	if role == load.RoleSub {
		one.Zero()
		one.Set(allowed[len(allowed)-1])
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return nil, err
	}
	return func() { _ = unix.SchedSetaffinity(0, &all) }, nil // it was so before
}

// FastCongestion is the congestion control that tagbus chooses within a host, or
// one that does not pace either, of those that any process may use here; empty
// if there is none.
func FastCongestion() string {
	text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
	if err != nil {
		return ""
	}
	allowed := strings.Fields(string(text))
	for _, name := range []string{"reno", "cubic"} {
		if slices.Contains(allowed, name) {
			return name
		}
	}
	return ""
}
