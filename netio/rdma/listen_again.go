// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"time"

	"tagbus/internal/alarm"
	"tagbus/netio/rdma/internal/fi"
)

// absence is that of the device of a listen endpoint, which was removed. Nothing connects there until it is
// back: then the endpoint listens again, at the same address. Only in a step.
type absence struct {
	away  bool
	again alarm.Alarm
	pause time.Duration // before the next try
	back  time.Time     // when the device was last back
}

// begin notes that the device is gone. One that was back for less than a minute comes and goes: then the pauses grow on.
func (a *absence) begin(now time.Time) {
	a.away = true
	if now.Sub(a.back) > lastRenewalPause {
		a.pause = 0
	}
}

// next returns the pause before the next try.
func (a *absence) next() time.Duration {
	pause := max(a.pause, time.Millisecond)
	a.pause = min(max(2*a.pause, firstRenewalPause), lastRenewalPause)
	return pause
}

// end notes that the device is back.
func (a *absence) end(now time.Time) { a.away, a.back = false, now }

// deviceGone notes that the device was removed. It closes nothing, as it is called while events are read.
func (l *listenEndpoint) deviceGone(err error) {
	a := &l.absence
	if a.away || l.stopped {
		return
	}
	l.backend.warn("a device was removed: nothing connects there until it is back", "addr", l.Address, "device", l.device.name, "err", err)
	a.begin(time.Now())
	a.again.F = l.leaveDevice
	l.backend.Alarms.Set(&a.again, time.Millisecond)
}

// leaveDevice closes what there is of the device that was removed: the kernel waits for that, however long the pause is.
func (l *listenEndpoint) leaveDevice() {
	b, d := l.backend, l.device
	if l.stopped || l.IsClosed() {
		return
	}
	l.rejectRest() // a request that is forgotten keeps the device
	l.closeObjects()
	b.devices.removed(d)
	b.devices.tidy()
	fi.LookForDevices()
	l.absence.again.F = l.listenAgain
	b.Alarms.Set(&l.absence.again, l.absence.next())
}

// listenAgain tries to listen on the device that has the address now.
func (l *listenEndpoint) listenAgain() {
	b := l.backend
	if l.stopped || l.IsClosed() {
		return
	}
	fi.LookForDevices() // the kernel waits with the removal until the device is closed
	if err := l.openPEP(l.Address); err != nil {
		b.devices.closeIdle()
		b.Alarms.Set(&l.absence.again, l.absence.next())
		return
	}
	l.absence.end(time.Now())
	b.config.Logger.Info("rdma: a device is back, and is listened on", "addr", l.Address, "device", l.device.name)
	l.events.Work()
}
