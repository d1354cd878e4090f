// SPDX-License-Identifier: Apache-2.0

package handover_test

import (
	"errors"
	"testing"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/internal/handover"
	"tagbus/netio/reactor"
)

func newBuffers(t *testing.T, n int) *netio.Pool {
	t.Helper()
	p, err := netio.NewPool(n, 16)
	if err != nil {
		t.Fatalf("NewPool: got error %v, want none", err)
	}
	t.Cleanup(p.Retire)
	return p
}

// filled returns a buffer with n bytes in it.
func filled(p *netio.Pool, n int) *netio.Buffer {
	b := p.Get()
	b.Extend(n)
	return b
}

// TestReserveBufferTakesNothingThatItRefuses: the user can send or release it.
func TestReserveBufferTakesNothingThatItRefuses(t *testing.T) {
	pool, other := newBuffers(t, 1), newBuffers(t, 1)
	tests := []struct {
		name   string
		pool   *netio.Pool
		bytes  int
		closed bool
		want   error
	}{
		{"closed", pool, 10, true, netio.ErrClosed},
		{"another pool", other, 10, false, netio.ErrForeignBuffer},
		{"empty", pool, 0, false, netio.ErrEmptyMessage},
		{"one byte too large", pool, 11, false, netio.ErrTooLarge},
		{"largest", pool, 10, false, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var q handover.Queue
			if tt.closed {
				q.Close()
			}
			b := filled(tt.pool, tt.bytes)
			if err := q.ReserveBuffer(b, pool, 10); !errors.Is(err, tt.want) {
				t.Fatalf("ReserveBuffer of %d bytes: got error %v, want %v", tt.bytes, err, tt.want)
			}
			if tt.want != nil {
				b.Release() // panics if it is not the user's
				return
			}
			b.ReleaseSent()
		})
	}
}

// TestFinishFreesThePlaceAndTheBuffer: both can be used again.
func TestFinishFreesThePlaceAndTheBuffer(t *testing.T) {
	r := backendtest.NewRunner(t, reactor.Config{})
	b := &transport{}
	if err := b.Open(r.EventLoop, netio.NopHandler{}, netio.Config{}, b); err != nil {
		t.Fatalf("Open: got error %v, want none", err)
	}
	defer func() { _ = errors.Join(b.Close(), r.Close()) }()
	pool := newBuffers(t, 1)
	var q handover.Queue
	var p netio.Params
	p.ZeroCopy.Outstanding = 1
	q.Init(&b.Backend, &p)
	if err := q.Reserve(); err != nil {
		t.Fatalf("Reserve: got error %v, want none", err)
	}
	q.Commit()
	if err := q.Reserve(); !errors.Is(err, netio.ErrNoResources) || !q.HasRefusals() {
		t.Errorf("Reserve of a second place: got error %v, want %v", err, netio.ErrNoResources)
	}
	sent := filled(pool, 1)
	if err := q.ReserveBuffer(sent, pool, 16); err != nil {
		t.Fatalf("ReserveBuffer: got error %v, want none", err)
	}
	if key := q.Finish(0, handover.Entry{Key: 7, Buffer: sent}); key != 7 {
		t.Errorf("Finish: got key %d, want 7", key)
	}
	if err := q.Reserve(); err != nil || pool.Free() != 1 {
		t.Errorf("behind Finish: got error %v and %d free buffers, want none and 1", err, pool.Free())
	}
}
