// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor

// WatchdogArmed reports whether the watchdog will look at the loop again without
// being asked to.
func (l *EventLoop) WatchdogArmed() bool { return l.watchdog.armed.Load() }
