// SPDX-License-Identifier: Apache-2.0

package stuck

import "path/filepath"

// mostNames is how many names of files are kept: a command line has few of them.
const mostNames = 1024

// Named notes which flag has named a file, or a folder, of which notes speak from now on; "": none, though
// a folder in which it is has one. The flag
// that named it first stays.
//
// Threads: any. Blocks: never.
func Named(path, flag string) {
	process.mu.Lock()
	defer process.mu.Unlock()
	if _, known := process.flags[path]; !known && path != "" && len(process.flags) < mostNames {
		process.flags[path] = flag
	}
}

// note returns what is to be said of a call. Locked.
func (p *waits) note(w *wait) Note {
	return Note{Path: w.path, Flag: p.flag(w.path), Pipe: w.pipe, Unread: w.quiet, Since: w.since}
}

// flag returns which flag has named a file, or else a folder in which it is; "" if none has. Locked.
func (p *waits) flag(path string) string {
	for len(p.flags) > 0 {
		if flag, ok := p.flags[path]; ok {
			return flag
		}
		up := filepath.Dir(path)
		if up == path || up == "." {
			break
		}
		path = up
	}
	return ""
}
