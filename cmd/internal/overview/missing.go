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
	instances, newest := make(map[string]bool), make(map[program]*state.Peer)
	for i := range s.Peers {
		p := &s.Peers[i]
		instances[p.Instance] = true
		if n := newest[program{p.Name, p.Host}]; p.Name != "" && (n == nil || p.Since.After(n.Since)) {
			newest[program{p.Name, p.Host}] = p
		}
	}
	for i := range s.Gone {
		p := &s.Gone[i]
		if p.Reason == "" || p.Ended.IsZero() || s.Time.Sub(p.Ended) > lately || instances[p.Instance] {
			continue
		}
		if n := newest[program{p.Name, p.Host}]; n != nil && !n.Since.Before(p.Heard) {
			continue // started again; one that was there before is another one
		}
		missing = append(missing, p)
	}
	return missing
}
