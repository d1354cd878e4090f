// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sealed

import (
	"math"
	"os"
	"strconv"
	"strings"
)

// uncheckedBytes may be asked for without a look at what there is.
const uncheckedBytes = 16 << 20

// Where the system says what it has, and what it promises. Variables for tests.
var (
	meminfo    = "/proc/meminfo"
	overcommit = "/proc/sys/vm/overcommit_memory"
)

// available returns how much memory the system has left, with its swap space. A system that
// is asked for more ends processes, any of them, before it says no. Other programs may
// take it meanwhile.
func available() int {
	text, err := os.ReadFile(meminfo)
	if err != nil {
		return math.MaxInt
	}
	return left(string(text))
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
