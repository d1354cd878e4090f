// SPDX-License-Identifier: Apache-2.0

// Package heartbeat measures silence: how long a peer has sent nothing, and how long this
// side has sent it nothing.
//
// A Clock ticks for all connections of its user, with one alarm, and only while there
// are any. Between two ticks a connection only sets flags; the tick turns flags into
// times. So a time is the end of the tick in which something happened. No limit is
// found exceeded too early, and each is found at most a tick too late. Limits count in
// whole ticks.
//
// A tick comes late if the process was stopped or a callback took long. During that
// time this side could hear no peer, so it does not count as silence: neither in a
// Pulse nor in a Deadline.
//
// Everything here runs on the loop. Nothing is locked.
package heartbeat

import (
	"sync/atomic"
	"time"

	"tagbus/bus/internal/steady"
	"tagbus/internal/alarm"
	"tagbus/netio"
)

const (
	ticksPerInterval = 4 // at least

	// minTick bounds the cost of a limit that a peer chooses. maxTick bounds how coarse
	// the clock becomes with a long interval.
	minTick = 10 * time.Millisecond
	maxTick = 500 * time.Millisecond

	// With more than crowd connections the intervals grow with the square of their number,
	// up to LongestStretch. So crowd of them cost half of the beats that all cost. If the
	// intervals grew in proportion, the sum would be that of a harmonic series.
	crowd = 500
)

// What Held knows: a peer loses patience after a second at the earliest, and its end is
// noticed when what it had sent before is handled.
const (
	leastHeld  = time.Second
	heldOfLate = 5 * time.Second
)

// LongestStretch bounds the interval of a connection, unless the configured one is
// longer.
const LongestStretch = 30 * time.Second

// Clock ticks for connections. The zero value has yet to be started.
type Clock struct {
	interval time.Duration // 0: this side sends no beats
	timeout  time.Duration // 0: silence of the peer means nothing
	alarms   *alarm.Clock
	next     alarm.Alarm // of the next tick
	tick     func(now time.Time, late time.Duration)
	period   time.Duration // between ticks
	usual    time.Duration // period, unless a limit asks for a shorter one
	wanted   time.Duration // by what this tick has found so far
	due      time.Time     // of the next tick
	held     time.Duration // by which a tick was late last, if that was leastHeld or more
	heldAt   time.Time     // when it came
	users    int           // connections
}

// Start sets up the clock.
//
//   - interval: the longest time in which this side sends nothing. Negative: it sends no
//     beats, and silence of a peer means nothing.
//   - timeout: the longest silence of a peer. Negative: any.
//   - tick: called for each tick, with its delay. A delay that a timer may have is 0.
func (c *Clock) Start(alarms *alarm.Clock, interval, timeout time.Duration, tick func(now time.Time, late time.Duration)) {
	if interval < 0 {
		timeout = 0
	}
	c.interval, c.timeout = max(interval, 0), max(timeout, 0)
	c.alarms, c.tick, c.next.F = alarms, tick, c.ring
	c.period = maxTick
	if c.interval > 0 {
		c.period = c.interval / max(ticksPerInterval, (c.interval+maxTick-1)/maxTick)
	}
	c.usual = c.period
}

// Interval returns the configured interval, which a side that dials promises. 0 is none.
func (c *Clock) Interval() time.Duration { return c.interval }

// Stretched returns the interval that a side that listens promises on a further
// connection. It grows with the number of connections, so that many idle ones cost little
// more than some.
//
//   - connections: that there are, with this one.
func (c *Clock) Stretched(connections int) time.Duration {
	times := float64(connections) / crowd
	return max(c.interval, time.Duration(min(float64(c.interval)*times*times, float64(LongestStretch))))
}

// Following returns the interval for a side that dials: no shorter than that of the peer,
// whose timeout is at least two of these.
//
//   - millis: the interval that the peer promises, 0 for none.
func (c *Clock) Following(millis int) time.Duration {
	if c.interval == 0 {
		return 0
	}
	return max(c.interval, min(time.Duration(millis)*time.Millisecond, LongestStretch))
}

// Millis returns an interval in milliseconds, rounded up, as a hello says it.
func Millis(interval time.Duration) int {
	return int((interval + time.Millisecond - 1) / time.Millisecond)
}

// Enter counts a connection in. The first one starts the ticks.
func (c *Clock) Enter() {
	if c.users++; c.users == 1 {
		c.schedule(time.Now())
	}
}

// Leave counts a connection out. The last one ends the ticks.
func (c *Clock) Leave() {
	if c.users--; c.users == 0 {
		if now := time.Now(); now.Sub(c.due) >= leastHeld { // of which no tick tells any more
			c.held, c.heldAt = now.Sub(c.due), now
		}
		c.alarms.Cancel(&c.next)
		c.period = c.usual
	}
}

// Quicken makes the ticks frequent enough for a limit; 0 is none. The next tick comes
// at its time or earlier, so shrinking limits cannot put it off.
func (c *Clock) Quicken(limit time.Duration) {
	if limit <= 0 || c.period <= tickFor(limit) {
		return
	}
	c.period = tickFor(limit)
	if now := time.Now(); c.users > 0 && now.Add(c.period).Before(c.due) {
		c.schedule(now)
	}
}

// Need keeps the ticks frequent enough for a limit. A tick calls it for each limit that
// is left: a period that no limit needs any more ends with the tick.
func (c *Clock) Need(limit time.Duration) {
	if limit > 0 {
		c.wanted = min(c.wanted, tickFor(limit))
	}
}

func tickFor(limit time.Duration) time.Duration { return max(limit/ticksPerInterval, minTick) }

// Over reports whether a limit has passed, give or take the timer's inaccuracy.
func (c *Clock) Over(passed, limit time.Duration) bool { return passed >= limit-c.period/8 }

// Held returns for how long this side was held up of late, in which it could neither take nor send anything: its process
// was stopped, or a callback took long; 0: it was not, or not for a second.
func (c *Clock) Held(now time.Time) time.Duration {
	if late := now.Sub(c.due); c.users > 0 && late >= leastHeld {
		return late // the tick comes next
	}
	if c.held > 0 && now.Sub(c.heldAt) <= heldOfLate {
		return c.held
	}
	return 0
}

// Due reports whether the interval has passed since a time. Without beats it never has.
func (c *Clock) Due(now, since time.Time) bool {
	return c.interval > 0 && c.Over(now.Sub(since), c.interval)
}

// schedule sets the next tick a period after now.
func (c *Clock) schedule(now time.Time) {
	c.due = now.Add(c.period)
	c.alarms.Set(&c.next, time.Until(c.due))
}

// ring is called by the alarm.
func (c *Clock) ring() {
	now := time.Now()
	late := now.Sub(c.due)
	if late < c.period/2 {
		late = 0 // timers are not exact
	}
	if late >= leastHeld {
		c.held, c.heldAt = late, now
	}
	c.wanted = c.usual
	c.tick(now, late)
	if c.users > 0 {
		c.period = c.wanted
		c.schedule(now)
	}
}

// Pulse tracks the signs of life of both sides of a connection. The zero value has yet
// to begin.
type Pulse struct {
	clock   *Clock
	heard   bool          // since the last tick something has come, or nothing could
	came    bool          // something has come since the last tick
	at      atomic.Int64  // steady time in nanoseconds since 1970 of the tick that found came set; any goroutine reads it
	every   time.Duration // this side sends something; 0: it sends no beats
	last    time.Time     // of the tick that found heard set
	spoke   time.Time     // of the tick that found that something was sent, or sent a beat
	allowed time.Duration // silence; 0: any
}

// Begin starts to listen to a peer.
//
//   - ep: the connection. Its system asks the peer for no signs of life before one and
//     a half of every. Of thousands of connections that are idle for as long, its probes
//     come in bursts, of which some are dropped: that ends living connections.
//   - every: the interval of this side, for this connection; 0: no beats.
//   - millis: the interval that the peer promises, 0 for none. The silence allowed is at
//     least three of them. If every is a stretched interval, which the peer may follow,
//     it is at least three of that, too.
func (p *Pulse) Begin(c *Clock, ep netio.Endpoint, every time.Duration, millis int) {
	now := time.Now()
	p.clock, p.heard, p.came, p.every, p.last, p.spoke, p.allowed = c, true, false, every, now, now, 0
	p.at.Store(steady.Time(now).UnixNano())
	if system, asks := ep.(netio.Prober); asks && every > 0 {
		system.ProbeAfter(min(every, LongestStretch) * 3 / 2) // later than the peer's beats, if it follows
	}
	if millis == 0 || c.timeout == 0 {
		return
	}
	p.allowed = max(c.timeout, 3*time.Duration(millis)*time.Millisecond)
	if every > c.interval {
		p.allowed = max(p.allowed, 3*every)
	}
}

// Hear notes that something has come.
func (p *Pulse) Hear() { p.heard, p.came = true, true }

// Excuse notes that nothing can be heard now, which is no silence.
func (p *Pulse) Excuse() { p.heard = true }

// Heard returns when something has come last by the steady clock, give or take a tick; zero before
// Begin. Threads: any.
func (p *Pulse) Heard() time.Time {
	if at := p.at.Load(); at != 0 {
		return time.Unix(0, at).UTC()
	}
	return time.Time{}
}

// Silent returns for how long the peer has been silent, and how much of that is allowed,
// if that is exceeded; otherwise zeros. A tick calls it once.
func (p *Pulse) Silent(now time.Time, late time.Duration) (silent, allowed time.Duration) {
	if p.came {
		p.came = false
		p.at.Store(steady.Time(now).UnixNano())
	}
	if p.heard {
		p.heard, p.last = false, now
		return 0, 0
	}
	p.last = p.last.Add(late)
	if silent = now.Sub(p.last); p.allowed == 0 || !p.clock.Over(silent, p.allowed) {
		return 0, 0
	}
	return max(silent, p.allowed), p.allowed
}

// Due reports whether to send a beat now. A tick calls it once.
//
//   - sent: something was sent since the last tick.
//   - idle: nothing is on its way that the peer is going to hear. Beats behind it would
//     pile up at a peer that does not read.
func (p *Pulse) Due(now time.Time, sent, idle bool) bool {
	if sent {
		p.spoke = now
	}
	if !idle || p.every == 0 || !p.clock.Over(now.Sub(p.spoke), p.every) {
		return false
	}
	p.spoke = now
	return true
}
