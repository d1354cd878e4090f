// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sealed

import (
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tagbus/netio/internal/memgroup"
)

// spareBytes are left for what else needs memory: this program, and others.
const spareBytes = 16 << 20

// Where the system says what it has, and what it promises. Variables for tests.
var (
	meminfo          = "/proc/meminfo"
	overcommit       = "/proc/sys/vm/overcommit_memory"
	groups     fs.FS = os.DirFS("/") // where what the control groups allow is said
)

// hasRoom reports whether the system, and the control groups of this process, have n bytes more, at least 1, and
// some to spare. A system that is asked for more than there is ends processes, any of them,
// or of the group, before it says no. Others may take it meanwhile.
func hasRoom(n int64) bool {
	want := uint64(n) + spareBytes
	if want > uint64(available()) {
		return false
	}
	room, ok := memgroup.Room(groups, want)
	return !ok || want <= room
}

// available returns how much memory the system has left, with its swap space. Where
// /proc does not say (ProcSubset=pid of systemd) it is what is free, without what the
// system would make free.
func available() int {
	if text, err := os.ReadFile(meminfo); err == nil {
		return left(string(text))
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return math.MaxInt
	}
	free := (uint64(info.Freeram) + uint64(info.Bufferram) + uint64(info.Freeswap)) * uint64(max(1, info.Unit)) //nolint:unconvert // 32 bits on some processors
	return int(min(free, math.MaxInt))
}

// left returns what a text of /proc/meminfo says is left; math.MaxInt if it does not say.
func left(meminfo string) int {
	total, known := 0, false
	for line := range strings.Lines(meminfo) {
		words := strings.Fields(line) // a name, a number, kB
		if len(words) < 2 || words[0] != "MemAvailable:" && words[0] != "SwapFree:" {
			continue
		}
		if n, err := strconv.Atoi(words[1]); err == nil && n <= math.MaxInt>>11 {
			total += n << 10
			known = known || words[0] == "MemAvailable:"
		}
	}
	if !known {
		return math.MaxInt
	}
	return total
}

// Strict reports whether the system promises no more memory than it has
// (vm.overcommit_memory=2). When it has none left to promise, it ends a process that touches
// a file of Reserve where that is not committed.
func Strict() bool {
	text, err := os.ReadFile(overcommit)
	return err == nil && strings.TrimSpace(string(text)) == "2"
}
