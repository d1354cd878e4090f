// SPDX-License-Identifier: Apache-2.0

package held

import "time"

// look looks soon at how long answers are left, as long as there are some. mutex is held.
func (a *Answers) look() {
	if !a.looking {
		a.looking = true
		time.AfterFunc(lookEvery, a.sweep)
	}
}

// sweep cuts connections off that do not take their answers.
func (a *Answers) sweep() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.looking = false
	now := time.Now()
	for _, of := range a.callers {
		for way := of.way(now, untaken); way != nil; way = of.way(now, untaken) {
			way.cut()
		}
	}
	for way := a.way(now); way != nil; way = a.way(now) {
		way.cut()
	}
	for _, of := range a.callers {
		if of.held > 0 || len(of.waiting) > 0 {
			a.look()
			return
		}
	}
}

// cut cuts a connection off. mutex is held.
func (c *conn) cut() {
	c.empty()
	go c.Cut() // it may want to wait
}

// way returns which connection gives way to requests that wait, once there is as much room as there can be;
// nil: none does. mutex is held.
func (a *Answers) way(now time.Time) *conn {
	for _, of := range a.serve() {
		if of.held+of.next().answer.bytes > a.most().ForCaller {
			if way := of.way(now, hurried); way != nil {
				return way
			}
			continue
		}
		var most *conn
		for _, other := range a.callers {
			if way := other.way(now, hurried); way != nil && (most == nil || other.held > most.of.held) {
				most = way
			}
		}
		return most
	}
	return nil
}

// left returns for how long a connection has left an answer. mutex is held.
func (c *conn) left(now time.Time) (longest time.Duration) {
	for h := range c.answers {
		longest = max(longest, now.Sub(h.since))
	}
	return longest
}

// way returns which connection holds most of those that have left an answer for so long; nil: none has.
// mutex is held.
func (c *caller) way(now time.Time, long time.Duration) (way *conn) {
	for _, at := range c.conns {
		if (way == nil || at.held > way.held) && at.left(now) >= long {
			way = at
		}
	}
	return way
}
