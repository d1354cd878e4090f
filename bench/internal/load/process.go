// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ResidentBytes is the memory of this process, less what it could give back.
func ResidentBytes() float64 {
	debug.FreeOSMemory()
	text, err := os.ReadFile("/proc/self/statm")
	Must(err)
	var size, resident int
	_, err = fmt.Sscan(string(text), &size, &resident)
	Must(err)
	return float64(resident * os.Getpagesize())
}

// IdleCPU waits for a time and returns the share of a processor that this process
// used meanwhile.
func IdleCPU(seconds float64) float64 {
	before := used()
	time.Sleep(time.Duration(seconds * 1e9)) //nolint:forbidigo // nothing happens that could be waited for
	return (used() - before).Seconds() / seconds
}

func used() time.Duration {
	var u unix.Rusage
	Must(unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// profileRate is how often a second of CPU time is looked at: as often as a kernel with
// CONFIG_HZ=250 can. Of the 100 times that are usual, a measurement has too few.
const profileRate = 250

// Profile starts the profiles that were asked for; the result ends them.
func Profile(o Options) func() {
	if o.CPUProfile == "" && o.MemProfile == "" {
		return func() {}
	}
	cpu, err := os.Create(o.CPUProfile)
	Must(err)
	runtime.SetCPUProfileRate(profileRate) // of which StartCPUProfile complains on standard error, and keeps it
	Must(pprof.StartCPUProfile(cpu))
	return func() {
		pprof.StopCPUProfile()
		Must(cpu.Close())
		mem, err := os.Create(o.MemProfile)
		Must(err)
		Must(pprof.Lookup("allocs").WriteTo(mem, 0))
		Must(mem.Close())
	}
}

// ProcessCPU is the processor time of a process that runs: the sum of its threads.
func ProcessCPU(pid int) time.Duration {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	var total time.Duration
	for _, file := range files {
		text, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			continue // a thread that has ended
		}
		first, _, _ := strings.Cut(string(text), " ")
		ns, _ := strconv.ParseInt(first, 10, 64)
		total += time.Duration(ns)
	}
	return total
}
