// SPDX-License-Identifier: Apache-2.0

package overview

// Totals are of a whole bus.
type Totals struct {
	Entries   int `json:"entries"`
	Silent    int `json:"silent"`          // of those: do not answer
	Connected int `json:"connected_peers"` // of those that answer
	Stalled   int `json:"stalled_peers"`
	Stuck     int `json:"stuck_peers"`
	Missing   int `json:"missing_peers"` // went without goodbye lately and have not come back
	Losing    int `json:"losing"`        // instances that have lost messages since the look before

	MessageRate Rate `json:"messages_per_second,omitzero"` // published, and received by receivers
	ByteRate    Rate `json:"payload_bytes_per_second,omitzero"`
	LostRate    Rate `json:"lost_messages_per_second,omitzero"`
}

// Sum returns the totals of rows.
func Sum(rows []Instance) Totals {
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
		if in.LostRate > 0 {
			t.Losing++
		}
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
