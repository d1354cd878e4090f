// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"time"

	"tagbus/bus/state"
)

// lately is how long ago a peer went at most to be missed.
const lately = 10 * time.Minute

// Missing returns the peers that went without goodbye within the last ten minutes and have
// not come back, the last to go first. A peer may have come back that the answer does not
// name: then State.Connected is more than there are State.Peers.
func Missing(s *state.State) (missing []*state.Peer) {
	if len(s.Gone) == 0 {
		return nil
	}
	type program struct{ name, host string }
	instances, programs := make(map[string]bool), make(map[program]bool)
	for i := range s.Peers {
		p := &s.Peers[i]
		instances[p.Instance], programs[program{p.Name, p.Host}] = true, p.Name != ""
	}
	for i := range s.Gone {
		p := &s.Gone[i]
		if p.Reason == "" || p.Ended.IsZero() || s.Time.Sub(p.Ended) > lately || instances[p.Instance] || programs[program{p.Name, p.Host}] {
			continue
		}
		missing = append(missing, p)
	}
	return missing
}
