// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Ready tells the service manager that started the command, if one did, that the
// command works from now on. If the unit has WatchdogSec, signs of life follow at half of
// that time. Each goes through the event loop, so that none comes from a loop that hangs.
//
//   - post: runs a function on the loop, or returns false once there is no loop.
//   - Result: stopping tells the manager that the command is about to end, and ends the
//     signs of life: the manager waits for none then. It must be called, once.
//   - Threads: any. Blocks: never, since systemd reads from its socket.
func Ready(c *Console, post func(func()) bool) (stopping func()) {
	notify(c, daemon.SdNotifyReady)
	done := make(chan struct{})
	// The error is a value that systemd does not set.
	if within, err := daemon.SdWatchdogEnabled(false); err == nil && within > 0 {
		go watchdog(c, within/2, post, done)
	}
	return func() {
		close(done)
		notify(c, daemon.SdNotifyStopping)
	}
}

// watchdog gives a sign of life now and at every tick, each after the loop has run what was
// posted for it.
func watchdog(c *Console, interval time.Duration, post func(func()) bool, done <-chan struct{}) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		ran := make(chan struct{})
		if !post(func() { close(ran) }) {
			return
		}
		select {
		case <-ran:
			notify(c, daemon.SdNotifyWatchdog)
		case <-done:
			return
		}
		select {
		case <-tick.C:
		case <-done:
			return
		}
	}
}

// notify sends a state to the socket that systemd names in NOTIFY_SOCKET.
func notify(c *Console, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		c.Notice("systemd was not told %s, and may end the command: %v", state, err)
	}
}
