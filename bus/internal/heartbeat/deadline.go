// SPDX-License-Identifier: Apache-2.0

package heartbeat

import (
	"time"

	"tagbus/internal/alarm"
)

// Deadline limits the wait for a message of a peer: its hello, or its first
// subscription. The zero value does not wait.
type Deadline struct {
	alarms *alarm.Clock
	alarm  alarm.Alarm
	limit  time.Duration
	missed func()
}

// Await begins to wait. During a wait it does nothing.
//
//   - missed: called after the limit and a quarter of it.
func (d *Deadline) Await(alarms *alarm.Clock, limit time.Duration, missed func()) {
	if d.alarm.IsSet() {
		return
	}
	d.alarms, d.limit, d.missed, d.alarm.F = alarms, limit, missed, d.ring
	alarms.Set(&d.alarm, limit+limit/4)
}

// Met ends the wait, if there is one.
func (d *Deadline) Met() { d.alarms.Cancel(&d.alarm) }

// ring is called by the alarm. If it comes late, a message of the peer may be unread.
func (d *Deadline) ring() {
	if late := d.alarms.Late(&d.alarm); late > d.limit/4 {
		d.alarms.Set(&d.alarm, min(late, d.limit))
		return
	}
	d.missed()
}
