// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package fi_test

import (
	"fmt"
	"testing"

	"tagbus/netio/rdma/internal/fi"
)

// BenchmarkCrossing posts to an endpoint that does nothing: what is left is the
// call into C and back, shared by the requests of a batch.
func BenchmarkCrossing(b *testing.B) {
	e := fi.OpenIdleEP()
	for _, batch := range []int{1, 4, 16, 64, 256} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			r := fi.NewRing(batch, 1, 1)
			defer r.Free()
			b.ReportAllocs()
			for i := 0; i < b.N; i += batch {
				for j := range batch {
					op := &r.Ops[j]
					op.EP, op.Context, op.Kind, op.Count = e.Handle(), uint64(i+j), fi.Send, 1
					op.Pieces[0] = fi.Piece{Len: 64}
				}
				r.Turn(batch, 0, 0)
			}
		})
	}
}

// BenchmarkEmptyTurn looks for completions where there are none.
func BenchmarkEmptyTurn(b *testing.B) {
	c := connect(b, false)
	defer c.close(b)
	b.ReportAllocs()
	for b.Loop() {
		c.server.drain(b)
	}
}

func TestTurnDoesNotAllocate(t *testing.T) {
	c := connect(t, false)
	defer c.close(t)
	if got := testing.AllocsPerRun(100, func() { c.server.drain(t) }); got != 0 {
		t.Errorf("allocations of a turn: got %v, want 0", got)
	}
}

// BenchmarkGetInfo is part of opening every connection.
func BenchmarkGetInfo(b *testing.B) {
	for b.Loop() {
		must(fi.GetInfo(fi.Hints{Provider: provider(), Addr: loopback(), Listen: true}))(b).Free()
	}
}
