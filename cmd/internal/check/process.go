// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"tagbus/internal/headroom"
)

// processSeen is how a process of this host is that does not answer.
type processSeen struct {
	pid     int
	stopped bool  // by a signal, or by a debugger
	files   int64 // descriptors that it has; -1: unknown, as of another user
	most    int64 // that it may have; -1: unknown
}

// lookAtSilent looks at the processes of this host that do not answer.
func (l *looker) lookAtSilent(ctx context.Context, s *seen) {
	known := make(map[int]*processSeen) // one process may have many entries
	for i := range s.entries {
		e := &s.entries[i]
		if l.process == nil || e.PID == 0 || e.reached() || ctx.Err() != nil {
			continue
		}
		if known[e.PID] == nil {
			p := l.process(e.PID)
			known[e.PID] = &p
		}
		e.process = known[e.PID]
	}
}

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
	if n, err := namesIn(root, p.path("fd")); err == nil {
		p.files = n
	}
	return p
}

// namesIn returns how many names a folder has. It holds few of them: a process may have a million descriptors.
func namesIn(root fs.FS, path string) (n int64, err error) {
	f, err := root.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return 0, fs.ErrInvalid
	}
	for {
		some, err := dir.ReadDir(1024)
		n += int64(len(some))
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

func (p *processSeen) path(name string) string { return fmt.Sprintf("proc/%d/%s", p.pid, name) }

// trouble returns why the process does not answer, as far as the system knows, and what to do; "": that is not known.
func (p *processSeen) trouble() (why, do string) {
	switch {
	case p == nil:
		return "", ""
	case p.stopped:
		return fmt.Sprintf("its process %d is stopped", p.pid), fmt.Sprintf("kill -CONT %d, or end the debugger that holds it", p.pid)
	case p.files >= 0 && p.most > 0 && p.files+int64(headroom.Of(uint64(p.most))) >= p.most:
		return fmt.Sprintf("its process %d has %d of the %d descriptors that it may have, and takes no connections", p.pid, p.files, p.most),
			"raise its limit (LimitNOFILE= of the service, or ulimit -n) and start it again, or end some of its connections"
	}
	return "", ""
}
