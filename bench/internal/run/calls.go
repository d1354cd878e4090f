// SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls counts how often a process makes a system call. /proc/PID/io has only those
// that read and write files: this is a counter at the kernel's tracepoint for the
// call, which takes root, tracefs, and no time.
type calls struct {
	counters []int // for each thread and those that it starts
}

// countCalls begins to count a system call of a process that runs.
func countCalls(pid int, name string) (*calls, error) {
	text, err := os.ReadFile("/sys/kernel/tracing/events/syscalls/sys_enter_" + name + "/id")
	if err != nil {
		return nil, err
	}
	id, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return nil, err
	}
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id, Bits: unix.PerfBitInherit}
	attr.Size = uint32(unsafe.Sizeof(attr))
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	c := &calls{}
	for _, thread := range threads {
		tid, err := strconv.Atoi(filepath.Base(thread))
		if err != nil {
			return nil, err
		}
		counter, err := unix.PerfEventOpen(&attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			c.end()
			return nil, fmt.Errorf("run: count %s: %w", name, err)
		}
		c.counters = append(c.counters, counter)
	}
	return c, nil
}

// end returns how many calls there were until now, 0 for a nil counter. The process may
// have ended.
func (c *calls) end() float64 {
	if c == nil {
		return 0
	}
	var total uint64
	for _, counter := range c.counters {
		var count [8]byte
		if n, err := unix.Read(counter, count[:]); n == len(count) && err == nil {
			total += binary.NativeEndian.Uint64(count[:])
		}
		_ = unix.Close(counter) // nothing was written
	}
	c.counters = nil
	return float64(total)
}
