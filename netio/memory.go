// SPDX-License-Identifier: Apache-2.0

package netio

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"

	"tagbus/netio/internal/memgroup"
)

// uncheckedBytes is the size up to which CheckMemory does not look: smaller pieces
// are no mistake of a configuration, and some are asked for at each connection.
const uncheckedBytes = 256 << 20

// addressable is how much a program can have in large pieces: that of 32 bits has 2 to 4 GiB
// for everything, and the system lets most of it be asked for whatever the machine has.
const addressable = (3 << 29) << (math.MaxInt >> 32 & 16)

// CheckMemory looks whether this process could have n more bytes at all, before it
// asks for them: the Go heap ends the program when the system refuses.
//
// It knows the memory and swap of the machine, the limits of the control groups,
// and the limits of the process (RLIMIT_AS, RLIMIT_DATA). It does not know what other
// programs take, so what it lets pass may still be refused.
//
// Errors: ErrNoMemory, wrapped, with the limit. Threads: any. Blocks: for a few
// files of /proc and /sys, if n is more than 256 MiB.
func CheckMemory(n int64) error {
	if n <= uncheckedBytes {
		return nil
	}
	limits := []memoryLimit{{"a program for this processor can address, beside all else, some", addressable}}
	for _, limit := range append(limits, memoryLimits(os.DirFS("/"), softLimit)...) {
		if uint64(n) > limit.bytes {
			return fmt.Errorf("%w: %d bytes asked for, %s %d", ErrNoMemory, n, limit.name, limit.bytes)
		}
	}
	return nil
}

// memoryLimit is something that bounds the memory of the process.
type memoryLimit struct {
	name  string // followed by bytes
	bytes uint64
}

// memoryLimits returns the limits that are known.
//
//   - root: the file system at "/".
//   - soft: returns the soft limit of a resource; ok is false without one.
func memoryLimits(root fs.FS, soft func(resource int) (bytes uint64, ok bool)) (limits []memoryLimit) {
	machine := numbersOf(root, "proc/meminfo")
	swap := machine["SwapTotal"]
	if total := machine["MemTotal"]; total > 0 {
		limits = append(limits, memoryLimit{"this machine has, with its swap space,", total + swap})
	}
	if bytes, ok := memgroup.Limit(root); ok {
		limits = append(limits, memoryLimit{"its control group allows, with swap space,", bytes + swap})
	}
	process := numbersOf(root, "proc/self/status")
	for _, r := range []struct {
		resource  int
		used, how string
	}{{limitAS, "VmSize", "ulimit -v"}, {limitData, "VmData", "ulimit -d"}} {
		if bytes, ok := soft(r.resource); ok {
			limits = append(limits, memoryLimit{"the limit of the process (" + r.how + ") leaves", bytes - min(bytes, process[r.used])})
		}
	}
	return limits
}

// numbersOf reads the lines "Name: number kB" of a file; none if it cannot.
func numbersOf(root fs.FS, name string) map[string]uint64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return nil
	}
	numbers := make(map[string]uint64)
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) != 3 || fields[2] != "kB" {
			continue
		}
		if n, err := strconv.ParseUint(fields[1], 10, 53); err == nil {
			numbers[strings.TrimSuffix(fields[0], ":")] = n << 10
		}
	}
	return numbers
}
