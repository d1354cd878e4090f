// SPDX-License-Identifier: Apache-2.0

package overviewtest

import (
	"slices"
	"time"

	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
)

// Clocks is how the clocks of the hosts of instances differ from that of the look: it is the same bus.
type Clocks struct {
	Name        string
	Before, Now time.Duration // by how much they are ahead at the two looks
}

// AllClocks has those with which each tool must say the same.
var AllClocks = []Clocks{
	{"as ours", 0, 0},
	{"two hours ahead", 2 * time.Hour, 2 * time.Hour},
	{"seven seconds behind", -7 * time.Second, -7 * time.Second},
	{"two days behind", -48 * time.Hour, -48 * time.Hour},
	{"set two hours ahead", 0, 2 * time.Hour},
	{"set two hours back", time.Hour, -time.Hour},
}

// By returns a look at the bus with such clocks.
func (c *Clocks) By(o overview.Overview) overview.Overview {
	o.Rows = slices.Clone(o.Rows)
	for i := range o.Rows {
		r := &o.Rows[i]
		r.State, r.Before = moved(r.State, c.Now), moved(r.Before, c.Before)
	}
	return o
}

func moved(s *state.State, d time.Duration) *state.State {
	if s == nil {
		return nil
	}
	s = new(*s)
	if s.Since.IsZero() {
		s.Since = Noon.Add(-3 * time.Hour)
	}
	*s = s.Moved(d)
	return s
}
