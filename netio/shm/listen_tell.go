// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"errors"

	"tagbus/netio"
)

// tellCrowded logs that a connection is closed as there are too many: its peer hears no reason.
func (l *listenEndpoint) tellCrowded() {
	if failed, tell := l.crowds.Fail(); tell {
		b := l.backend
		b.config.Logger.Warn("shm: there are as many accepted connections as may be: for each more one is closed, and goes by another transport",
			"addr", l.Address, "MaxEndpoints", b.config.MaxEndpoints, "failed", failed)
	}
}

// tellDismissed logs why a connection was dismissed. Without TLS nothing but a broken program causes that, and
// want of memory; that for the region is told once, by commitment.
func (l *listenEndpoint) tellDismissed(e *endpoint, err error) {
	log, failed := l.backend.config.Logger.Debug, uint64(1)
	if l.backend.config.TLS != nil || errors.Is(err, netio.ErrNoMemory) && !l.commitment.pause.IsSet() {
		var tell bool
		if failed, tell = l.dismissed.Fail(); tell {
			log = l.backend.config.Logger.Warn
		}
	}
	log("shm: an accepted connection was dismissed", "addr", l.Address, "pid", e.credentials.Pid, "uid", e.credentials.Uid, "failed", failed, "err", err)
}

// tellLetIn logs that connections are let in again, if a failure was logged.
func (l *listenEndpoint) tellLetIn() {
	if failed, lasted, tell := l.dismissed.End(); tell {
		l.backend.config.Logger.Info("shm: accepted connections are let in again", "addr", l.Address, "failed", failed, "after", lasted)
	}
}
