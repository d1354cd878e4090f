// SPDX-License-Identifier: Apache-2.0

package overview

// Totals are of a whole bus.
type Totals struct {
	Entries   int `json:"entries"`
	Silent    int `json:"silent"`          // of those: do not answer
	Connected int `json:"connected_peers"` // of those that answer
	Stalled   int `json:"stalled_peers"`
	Stuck     int `json:"stuck_peers"`
	Missing   int `json:"missing_peers"` // went without goodbye lately and have not come back, each once; and what dead instances have left
	Losing    int `json:"losing"`        // instances that lose messages now, each once

	Unconfirmed uint64 `json:"unconfirmed_messages,omitempty"` // became so within ten minutes: lost or received, the peers have not said

	MessageRate Rate `json:"messages_per_second,omitzero"` // published, and received by receivers
	ByteRate    Rate `json:"payload_bytes_per_second,omitzero"`
	LostRate    Rate `json:"lost_messages_per_second,omitzero"`
}

// Totals returns the totals of the bus.
//
//   - groups: its problems.
func (o *Overview) Totals(groups []Group) Totals {
	t := sum(o.Instances())
	t.Silent, t.Missing, t.Losing = 0, 0, 0
	losing := make(map[End]bool)
	for i := range groups {
		switch g := &groups[i]; {
		case g.Level < Warning:
		case g.ID == NoAnswer:
			t.Silent++
		case g.ID == PeerGone || g.ID == StaleEntry:
			t.Missing++
		case g.ID == Losing:
			losing[g.Culprit] = true
		case g.ID == Unconfirmed:
			t.Unconfirmed += g.Count
		}
	}
	t.Losing = len(losing)
	return t
}

// sum adds up rows.
func sum(rows []Instance) Totals {
	t := Totals{Entries: len(rows), MessageRate: Unknown, ByteRate: Unknown, LostRate: Unknown}
	for i := range rows {
		in := &rows[i]
		if in.Trouble() == Silent {
			t.Silent++
		}
		t.Connected += in.Connected
		t.Stalled += in.Stalled
		t.Missing += in.Missing
		t.Stuck += max(in.Stuck, in.Stalled)
		t.MessageRate = t.MessageRate.plus(in.MessageRate)
		t.ByteRate = t.ByteRate.plus(in.ByteRate)
		t.LostRate = t.LostRate.plus(in.LostRate)
	}
	return t
}

// plus adds what is known.
func (r Rate) plus(o Rate) Rate {
	switch {
	case !r.Known():
		return o
	case !o.Known():
		return r
	default:
		return r + o
	}
}
