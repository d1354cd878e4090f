// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"time"

	"tagbus/bus"
)

// Heartbeats returns HeartbeatInterval and HeartbeatTimeout of the configurations
// of the bus.
func (c *Common) Heartbeats() (interval, timeout time.Duration) {
	return heartbeat(c.Heartbeat), heartbeat(c.HeartbeatTimeout)
}

// heartbeat makes what means off on the command line, 0, what it is in the
// configuration, where 0 is the default.
func heartbeat(d *time.Duration) time.Duration {
	switch {
	case d == nil:
		return 0
	case *d == 0:
		return bus.HeartbeatsOff
	default:
		return *d
	}
}
