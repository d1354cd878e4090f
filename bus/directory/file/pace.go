// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import "time"

// A look at all files each Poll, by each of many programs, is a load for ever. So each Poll
// only asks whether the folder has changed and whether a process has ended, or the kernel
// tells it. The files are looked at more seldom while nothing happens, and read while
// something does.

// pace decides how the folder is looked at, and when.
type pace struct {
	folder  stamp     // last seen
	changed time.Time // when it was last seen to be another one
	listed  time.Time // when the names were last read
}

// settleTime is how long after a change all is looked at: the times of some file systems
// are as coarse as that, so that a second change does not show.
const settleTime = 2 * time.Second

// looksPerExpiry is how often the files are looked at within Config.Expiry, if Poll allows.
// An entry may be Gone that much later than a look each Poll would find.
const looksPerExpiry = 5

// seen notes the stamp of the folder.
func (p *pace) seen(now stamp) {
	if now != p.folder {
		p.folder, p.changed = now, time.Now()
	}
}

// tick looks at the folder if it is time to, once each Poll.
func (s *scanner) tick() {
	s.gate.enter()
	defer s.gate.leave()
	if !s.watching.Load() {
		s.tickSeldom()
		return
	}
	f, err := s.open()
	if err == nil {
		f.close()
	}
	c, now := &s.d.config, time.Now()
	restless := err != nil || now.Sub(s.pace.changed) < settleTime
	how := look{list: restless || c.PollOnly || !s.notices.working() || now.Sub(s.pace.listed) >= c.Expiry, read: restless}
	if how.list {
		s.pace.listed = now
	}
	if restless || s.lives.ask() || now.Sub(s.last) >= s.interval()-c.Poll/2 {
		s.look(how)
	}
}

// ticks returns how often to tick: each Poll, or only to look at the files if all else is
// noticed.
func (s *scanner) ticks() time.Duration {
	if time.Since(s.pace.changed) < settleTime || !s.notices.complete() || s.lives.waits == nil {
		return s.d.config.Poll
	}
	return s.interval()
}

// interval returns how often the files are looked at.
func (s *scanner) interval() time.Duration {
	c := &s.d.config
	if c.PollOnly || !s.notices.working() {
		return c.Poll
	}
	for _, known := range s.sources {
		if known.record != nil && !known.isGone() && (known.silent >= 2*known.record.beat || !s.lives.follows(known.record.process)) {
			return c.Poll
		}
	}
	return max(c.Poll, c.Expiry/looksPerExpiry)
}
