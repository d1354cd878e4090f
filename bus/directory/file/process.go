// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// process names a process so that another one in the same kernel can tell, with
// certainty, that it has ended. The zero value names none.
type process struct {
	Space string `json:"space"` // boot id, pid namespace, time namespace: where PID and Start mean something
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // clock ticks since boot; process ids are used again, this pair is not
}

// thisProcess is the calling process; zero if the system does not tell, or if
// /proc shows another namespace than the one that the process lives in.
var thisProcess = sync.OnceValue(func() process {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return process{}
	}
	space := strings.TrimSpace(string(boot))
	for _, namespace := range []string{"pid", "time"} {
		link, err := os.Readlink("/proc/self/ns/" + namespace)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // a kernel without time namespaces has no link
			return process{}
		}
		space += "/" + strings.TrimSuffix(strings.TrimPrefix(link, namespace+":["), "]")
	}
	own, ok := readStat("self")
	if !ok || own.pid != os.Getpid() {
		return process{}
	}
	return process{Space: space, PID: own.pid, Start: own.start}
})

// isNeighbour reports whether p is, or was, another process in this process's namespaces.
func (p process) isNeighbour() bool {
	own := thisProcess()
	return p.PID > 0 && p.Space != "" && p.Space == own.Space && p != own
}

// ended reports whether p has certainly ended. False may also mean unknown.
func (p process) ended() bool {
	if !p.isNeighbour() {
		return false
	}
	if errors.Is(syscall.Kill(p.PID, 0), syscall.ESRCH) {
		return true
	}
	now, ok := readStat(strconv.Itoa(p.PID))
	if !ok { // hidden from this user
		return false
	}
	// A zombie publishes nothing, however long its parent leaves it there. With more threads it is the
	// main one alone that has ended, as pthread_exit does, and the process goes on.
	return now.start != p.Start || now.state == 'X' || now.state == 'Z' && now.threads <= 1
}

// stat is what the kernel says of a process.
type stat struct {
	pid     int
	state   byte
	threads uint64
	start   uint64 // as that of process
}

// readStat reads /proc/NAME/stat.
func readStat(name string) (s stat, ok bool) {
	data, err := os.ReadFile("/proc/" + name + "/stat")
	if err != nil {
		return stat{}, false
	}
	// pid (command) state ...: the command may hold blanks and parentheses.
	if _, err := fmt.Sscanf(string(data), "%d ", &s.pid); err != nil {
		return stat{}, false
	}
	const threadsField, startField = 20 - 3, 22 - 3 // proc(5) counts from 1, and state is field 3
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) <= startField || len(fields[0]) != 1 {
		return stat{}, false
	}
	s.state = fields[0][0]
	s.threads, err = strconv.ParseUint(string(fields[threadsField]), 10, 64)
	if err != nil {
		return stat{}, false
	}
	s.start, err = strconv.ParseUint(string(fields[startField]), 10, 64)
	return s, err == nil
}
