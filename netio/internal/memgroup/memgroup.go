// SPDX-License-Identifier: Apache-2.0

// Package memgroup reads what the control groups of this process allow of memory, of version 1 or 2. The system
// ends a process of a group that takes more, as one in a container is, before it says no.
package memgroup

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// version is where a version of control groups says what, and what it calls that.
type version struct {
	mount, limit, usage string
	reclaimable         string // in memory.stat: of files that were not looked at for a while, of all groups below
}

var (
	one = version{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
	two = version{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"}
)

// Limit returns the lowest limit of the groups that the process is in. ok is false without one.
//
//   - root: the file system at "/".
func Limit(root fs.FS) (bytes uint64, ok bool) {
	each(root, func(_ version, _ string, limit uint64) {
		if !ok || limit < bytes {
			bytes, ok = limit, true
		}
	})
	return bytes, ok
}

// Room returns how many bytes more the groups that the process is in allow, but swap space. ok is false if they say
// nothing of that.
//
//   - root: the file system at "/".
//   - enough: what the caller wants, to spare it the system's sums over what more could be had.
func Room(root fs.FS, enough uint64) (bytes uint64, ok bool) {
	each(root, func(v version, group string, limit uint64) {
		usage, known := number(root, path.Join(group, v.usage))
		if !known {
			return
		}
		room := limit - min(limit, usage)
		if room < enough {
			room = limit - min(limit, usage-min(usage, reclaimable(root, group, v)))
		}
		if !ok || room < bytes {
			bytes, ok = room, true
		}
	})
	return bytes, ok
}

// each calls f for each group with a limit that the process is in, up to the root of all.
func each(root fs.FS, f func(v version, group string, limit uint64)) {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) { // number:controllers:/path
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		var v version
		switch parts[1] {
		case "":
			v = two
		case "memory":
			v = one
		default:
			continue
		}
		// In a container the path may be that of the host, of which only the last
		// part, the mount itself, is to be seen.
		for at := path.Join("/", parts[2]); ; at = path.Dir(at) {
			group := path.Join(v.mount, at)
			if limit, ok := number(root, path.Join(group, v.limit)); ok {
				f(v, group, limit)
			}
			if at == "/" {
				break
			}
		}
	}
}

// number reads a file that holds one number; there is none in one that says "max".
func number(root fs.FS, name string) (uint64, bool) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 63)
	return n, err == nil
}

// reclaimable returns what the system would take from a group before it ends a process.
func reclaimable(root fs.FS, group string, v version) uint64 {
	text, err := fs.ReadFile(root, path.Join(group, "memory.stat"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) { // name number
		if rest, ok := strings.CutPrefix(line, v.reclaimable+" "); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(rest), 10, 63)
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}
