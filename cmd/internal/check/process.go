// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"fmt"
	"io/fs"
	"strconv"
)

// processSeen is how a process of this host is that does not answer.
type processSeen struct {
	pid     int
	stopped bool  // by a signal, or by a debugger
	files   int64 // descriptors that it has; -1: unknown, as of another user
	most    int64 // that it may have; -1: unknown
}

// spareDescriptors is how many descriptors are free, at most, of a process that takes no connections for want of them: so
// many are left to its files.
const spareDescriptors = 16

// lookAtProcess looks at a process.
//
//   - root: of the file system.
func lookAtProcess(root fs.FS, pid int) processSeen {
	p := processSeen{pid: pid, files: -1, most: limitOf(root, strconv.Itoa(pid), "Max open files")}
	stat := []byte(text(root, p.path("stat")))
	// pid (command) state ...: the command may hold blanks and parentheses.
	if state := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]); len(state) > 0 {
		p.stopped = string(state[0]) == "T" || string(state[0]) == "t"
	}
	if all, err := fs.ReadDir(root, p.path("fd")); err == nil {
		p.files = int64(len(all))
	}
	return p
}

func (p *processSeen) path(name string) string { return fmt.Sprintf("proc/%d/%s", p.pid, name) }

// trouble returns why the process does not answer, as far as the system knows, and what to do; "": that is not known.
func (p *processSeen) trouble() (why, do string) {
	switch {
	case p == nil:
		return "", ""
	case p.stopped:
		return fmt.Sprintf("its process %d is stopped", p.pid), fmt.Sprintf("kill -CONT %d, or end the debugger that holds it", p.pid)
	case p.files >= 0 && p.most > 0 && p.files+min(spareDescriptors, p.most/16) >= p.most:
		return fmt.Sprintf("its process %d has %d of the %d descriptors that it may have, and takes no connections", p.pid, p.files, p.most),
			"raise its limit (LimitNOFILE= of the service, or ulimit -n) and start it again, or end some of its connections"
	}
	return "", ""
}
