// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"sync/atomic"
	"time"

	"tagbus/bus/directory"
)

var _ directory.StatsReporter = (*Directory)(nil)

// looks counts looks at the whole folder. The zero value is ready. Threads: any.
type looks struct {
	count   atomic.Uint64
	contact atomic.Pointer[time.Time] // of the last one that the folder answered
	up      atomic.Bool
}

// add notes a look.
func (l *looks) add(now time.Time, err error) {
	l.count.Add(1)
	if err == nil {
		l.contact.Store(&now)
	}
	l.up.Store(err == nil)
}

// Stats returns what the directory knows, and how it gets on with the folder. A process
// that only announces looks at the folder a few times in Config.CollectAfter. Blocks: never.
func (d *Directory) Stats() directory.Stats {
	s := directory.Stats{Up: d.looks.up.Load(), Looks: d.looks.count.Load()}
	if contact := d.looks.contact.Load(); contact != nil {
		s.LastContact = *contact
	}
	s.Entries, s.Problems = d.feed.Sizes()
	d.mu.Lock()
	defer d.mu.Unlock()
	s.Registrations = len(d.publications)
	return s
}
