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
	again alarm.Alarm
	pause time.Duration // before the next try; 0: the device is there
}

// deviceGone notes that the device was removed. It closes nothing, as it is called while events are read.
func (l *listenEndpoint) deviceGone(err error) {
	if l.absence.pause > 0 || l.stopped {
		return
	}
	l.backend.warn("a device was removed: nothing connects there until it is back", "addr", l.Address, "device", l.device.name, "err", err)
	l.absence.pause = firstRenewalPause
	l.absence.again.F = l.listenAgain
	l.backend.Alarms.Set(&l.absence.again, time.Millisecond)
}

// listenAgain tries to listen on the device that has the address now.
func (l *listenEndpoint) listenAgain() {
	b := l.backend
	if l.stopped || l.IsClosed() {
		return
	}
	if d := l.device; d != nil {
		l.rejectRest() // a request that is forgotten keeps the device, for which the kernel waits
		l.closeObjects()
		b.devices.removed(d)
		b.devices.tidy()
	}
	fi.LookForDevices() // the kernel waits with the removal until the device is closed
	if err := l.openPEP(l.Address); err != nil {
		b.devices.closeIdle()
		l.absence.pause = min(2*l.absence.pause, lastRenewalPause)
		b.Alarms.Set(&l.absence.again, l.absence.pause/2)
		return
	}
	l.absence.pause = 0
	b.config.Logger.Info("rdma: a device is back, and is listened on", "addr", l.Address, "device", l.device.name)
	l.events.Work()
}
