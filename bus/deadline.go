package bus

import (
	"time"

	"tagbus/internal/alarm"
)

// deadline limits the wait for a message of a peer: its hello, or its first
// subscription. The zero value does not wait. Loop only.
type deadline struct {
	alarms *alarm.Clock
	alarm  alarm.Alarm
	limit  time.Duration
	missed func()
}

// await begins to wait. missed is called after the limit and a quarter of it. During a
// wait, await does nothing.
func (d *deadline) await(alarms *alarm.Clock, limit time.Duration, missed func()) {
	if d.alarm.IsSet() {
		return
	}
	d.alarms, d.limit, d.missed, d.alarm.F = alarms, limit, missed, d.ring
	alarms.Set(&d.alarm, limit+limit/4)
}

// met ends the wait, if there is one.
func (d *deadline) met() { d.alarms.Cancel(&d.alarm) }

// ring is called by the alarm. If it comes late, because the process was stopped or a
// callback took long, a message of the peer may be unread. That time does not count.
func (d *deadline) ring() {
	if late := d.alarms.Late(&d.alarm); late > d.limit/4 {
		d.alarms.Set(&d.alarm, min(late, d.limit))
		return
	}
	d.missed()
}
