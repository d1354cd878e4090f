package bus

import (
	"time"

	"tagbus/internal/alarm"
)

// deadline ends the wait for what a peer has to say: its hello, or that it wants
// something. The zero value does not wait. Loop only.
type deadline struct {
	alarms *alarm.Clock
	alarm  alarm.Alarm
	limit  time.Duration
	missed func()
}

// await begins to wait; missed is called when the limit has passed and a quarter of
// it. A wait that has begun goes on as it is.
func (d *deadline) await(alarms *alarm.Clock, limit time.Duration, missed func()) {
	if d.alarm.IsSet() {
		return
	}
	d.alarms, d.limit, d.missed, d.alarm.F = alarms, limit, missed, d.ring
	alarms.Set(&d.alarm, limit+limit/4)
}

// met ends the wait, if there is one.
func (d *deadline) met() { d.alarms.Cancel(&d.alarm) }

// ring is what the alarm calls. When it comes late, because the process was stopped or a
// callback took long, what the peer has said may be unread: that time does not count.
func (d *deadline) ring() {
	if late := d.alarms.Late(&d.alarm); late > d.limit/4 {
		d.alarms.Set(&d.alarm, min(late, d.limit))
		return
	}
	d.missed()
}
