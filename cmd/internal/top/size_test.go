// SPDX-License-Identifier: Apache-2.0

package top

import (
	"testing"
)

// BenchmarkLook is what a second of top costs beside the answers: 1,000 publishers, each
// with the 8 worst of its peers.
func BenchmarkLook(b *testing.B) {
	for _, links := range []bool{false, true} {
		name := "view=instances"
		if links {
			name = "view=links"
		}
		b.Run(name, func(b *testing.B) {
			o := large(1000)
			for i := range o.Rows {
				r := &o.Rows[i]
				for len(r.State.Peers) < leastPeers {
					p := r.State.Peers[0]
					p.Instance += "x"
					r.State.Peers, r.Before.Peers = append(r.State.Peers, p), append(r.Before.Peers, p)
				}
			}
			v := open("queue", links, true, o)
			b.ReportAllocs()
			for b.Loop() {
				v.show(o)
				v.frame(120, 40)
			}
		})
	}
}
