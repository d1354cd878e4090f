// SPDX-License-Identifier: Apache-2.0

package heartbeat

import (
	"time"

	"tagbus/netio"
)

// Reading is whether a peer is read: not while there is a reason to pause. Then the peer cannot
// be heard, so its silence means nothing. The reasons outlast a connection. The zero value reads.
type Reading struct {
	ep      netio.Endpoint // nil without a connection
	pulse   *Pulse
	reasons int
	since   time.Time // when the first of them came
}

// Begin begins a connection, paused if there is a reason.
func (r *Reading) Begin(ep netio.Endpoint, pulse *Pulse) {
	r.ep, r.pulse = ep, pulse
	if r.reasons > 0 {
		ep.PauseReceive()
	}
}

// End ends the connection.
func (r *Reading) End() { r.ep = nil }

// Pause stops reading, until Resume is called as often. It takes effect at once.
func (r *Reading) Pause() {
	if r.reasons++; r.reasons > 1 {
		return
	}
	r.since = time.Now()
	if r.ep != nil {
		r.ep.PauseReceive()
	}
}

// Resume undoes one Pause.
func (r *Reading) Resume() {
	if r.reasons--; r.reasons == 0 && r.ep != nil {
		r.pulse.Excuse() // from here on
		r.ep.ResumeReceive()
	}
}

// Paused reports whether there is a reason.
func (r *Reading) Paused() bool { return r.reasons > 0 }

// Held returns for how long this side has taken nothing of late, because of the pause or as the
// clock knows; 0: not for long.
func (r *Reading) Held(c *Clock, now time.Time) time.Duration {
	held := c.Held(now)
	if paused := now.Sub(r.since); r.reasons > 0 && paused >= leastHeld {
		held = max(held, paused)
	}
	return held
}
