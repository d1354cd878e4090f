package bus

import (
	"time"

	"tagbus/internal/alarm"
)

// Defaults of the heartbeats of publishers and subscribers.
const (
	defaultHeartbeatInterval = 2 * time.Second
	defaultHeartbeatTimeout  = 6 * time.Second
)

// HeartbeatsOff is the HeartbeatInterval of a side that sends no heartbeats and ignores
// silence, and the HeartbeatTimeout of a side that only sends them.
const HeartbeatsOff time.Duration = -1

const (
	maxHeartbeatInterval = time.Hour
	ticksPerInterval     = 4 // at least

	// minTick bounds the cost of a limit that a subscriber chooses. maxTick bounds how
	// coarse the clock becomes with a long interval.
	minTick = 10 * time.Millisecond
	maxTick = defaultHeartbeatInterval / ticksPerInterval
)

// heartbeat is the coarse clock of a publisher or a subscriber. One alarm serves all
// connections, and is set only while there are any. The data path only sets flags; the
// tick turns flags into times. So a time is the end of the tick in which something
// happened. No limit is found exceeded too early, and each is found at most a tick too
// late. Limits count in whole ticks.
//
// Everything here runs on the loop.
type heartbeat struct {
	interval time.Duration // 0: this side sends no beats
	timeout  time.Duration // 0: silence of the peer means nothing
	patience time.Duration // after which a stall is reported
	alarms   *alarm.Clock
	next     alarm.Alarm // of the next tick
	tick     func(now time.Time, late time.Duration)
	period   time.Duration // between ticks
	usual    time.Duration // period, unless a subscriber's limit asks for a shorter one
	wanted   time.Duration // by what this tick has found so far
	due      time.Time     // of the next tick
	users    int           // connections
}

// start sets up the clock. tick is called for each tick, with its delay.
func (h *heartbeat) start(alarms *alarm.Clock, interval, timeout time.Duration, tick func(now time.Time, late time.Duration)) {
	h.interval, h.timeout, h.patience = interval, timeout, timeout
	h.alarms, h.tick, h.next.F = alarms, tick, h.ring
	if interval < 0 {
		h.interval, h.timeout = 0, 0
	}
	if h.timeout < 0 {
		h.timeout = 0
	}
	if h.patience <= 0 {
		h.patience = defaultHeartbeatTimeout
	}
	h.period = maxTick
	if h.interval > 0 {
		h.period = h.interval / max(ticksPerInterval, (h.interval+maxTick-1)/maxTick)
	}
	h.usual = h.period
}

// quicken makes the ticks frequent enough for a limit; 0 is none. The next tick comes
// at its time or earlier, so shrinking limits cannot put it off.
func (h *heartbeat) quicken(limit time.Duration) {
	if limit <= 0 || h.period <= tickFor(limit) {
		return
	}
	h.period = tickFor(limit)
	if now := time.Now(); h.users > 0 && now.Add(h.period).Before(h.due) {
		h.schedule(now)
	}
}

// need is called in a tick for each remaining limit. A period that no limit needs any
// more ends with the tick.
func (h *heartbeat) need(limit time.Duration) {
	if limit > 0 {
		h.wanted = min(h.wanted, tickFor(limit))
	}
}

func tickFor(limit time.Duration) time.Duration { return max(limit/ticksPerInterval, minTick) }

// enter counts a connection in.
func (h *heartbeat) enter() {
	if h.users++; h.users == 1 {
		h.schedule(time.Now())
	}
}

// leave counts a connection out.
func (h *heartbeat) leave() {
	if h.users--; h.users == 0 {
		h.alarms.Cancel(&h.next)
		h.period = h.usual
	}
}

// schedule sets the next tick a period after now.
func (h *heartbeat) schedule(now time.Time) {
	h.due = now.Add(h.period)
	h.alarms.Set(&h.next, time.Until(h.due))
}

// ring is called by the alarm. During the delay of a late tick, because the process was
// stopped or a callback took long, this side could not hear its peers. That time does
// not count as their silence.
func (h *heartbeat) ring() {
	now := time.Now()
	late := now.Sub(h.due)
	if late < h.period/2 {
		late = 0 // timers are not exact
	}
	h.wanted = h.usual
	h.tick(now, late)
	if h.users > 0 {
		h.period = h.wanted
		h.schedule(now)
	}
}

// slack is the tolerated inaccuracy of a timer.
func (h *heartbeat) slack() time.Duration { return h.period / 8 }

// over reports whether a limit has passed, give or take the timer's inaccuracy.
func (h *heartbeat) over(passed, limit time.Duration) bool { return passed >= limit-h.slack() }

// millis returns the interval as it is in the hello.
func (h *heartbeat) millis() int {
	return int((h.interval + time.Millisecond - 1) / time.Millisecond)
}

// pulse tracks the heartbeats of both sides of a connection. Loop only.
type pulse struct {
	heard   bool          // something has come since the last tick
	last    time.Time     // of the tick that found heard set
	spoke   time.Time     // of the tick that found that something was sent, or sent a beat
	allowed time.Duration // silence; 0: any
}

// begin starts to listen to a peer. millis is the heartbeat interval that it promises,
// 0 for none.
func (u *pulse) begin(h *heartbeat, millis int) {
	now := time.Now()
	*u = pulse{heard: true, last: now, spoke: now}
	if millis > 0 && h.timeout > 0 {
		u.allowed = max(h.timeout, 3*time.Duration(millis)*time.Millisecond)
	}
}

// listen returns an error if the peer is silent for too long.
func (u *pulse) listen(h *heartbeat, now time.Time, late time.Duration) error {
	if u.heard {
		u.heard, u.last = false, now
		return nil
	}
	u.last = u.last.Add(late)
	if silent := now.Sub(u.last); u.allowed > 0 && h.over(silent, u.allowed) {
		return &SilentError{For: max(silent, u.allowed), Limit: u.allowed}
	}
	return nil
}

// due reports whether it is time for a beat.
//
//   - sent: something was sent since the last tick.
func (u *pulse) due(h *heartbeat, now time.Time, sent bool) bool {
	if sent {
		u.spoke = now
	}
	return h.interval > 0 && h.over(now.Sub(u.spoke), h.interval)
}
