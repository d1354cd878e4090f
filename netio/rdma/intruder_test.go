// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"
	"unsafe"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio/rdma/internal/fi"
)

// intruder is an endpoint of libfabric that sends what it likes.
type intruder struct {
	ep   *fi.EP
	av   *fi.AV
	ring *fi.Ring
	mem  []byte
	mr   *fi.MR
	name []byte
}

func newIntruder(t *testing.T) *intruder {
	t.Helper()
	var errs []error
	try := func(err error) { errs = append(errs, err) }
	i, err := fi.GetInfo(fi.Hints{RDM: true, Provider: rxm.Provider, Addr: rdmHost, Listen: true})
	if err != nil {
		t.Fatalf("GetInfo: got error %v, want none", err)
	}
	defer i.Free()
	x := &intruder{ring: fi.NewRing(1, 1, 16), mem: newRegion(t, 4096)}
	f, err := fi.OpenFabric(i)
	try(err)
	d, err := f.OpenDomain(i)
	try(err)
	q, err := d.OpenCQ(64)
	try(err)
	x.av, err = d.OpenAV()
	try(err)
	x.ep, err = d.OpenEP(i, 0, false)
	try(err)
	try(errors.Join(x.ep.BindAV(x.av, q), x.ep.Enable()))
	x.mr, err = d.Register(x.mem)
	try(err)
	x.name, err = x.ep.RawName()
	if err := errors.Join(append(errs, err)...); err != nil {
		t.Fatalf("open an endpoint: got error %v, want none", err)
	}
	x.ring.Drains[0] = q.Drain()
	t.Cleanup(func() {
		if err := errors.Join(x.ep.Close(), x.mr.Close(), x.av.Close(), q.Close(), d.Close(), f.Close()); err != nil {
			t.Errorf("close: got error %v, want none", err)
		}
		x.ring.Free()
	})
	return x
}

// send sends a message and waits until it is sent.
func (x *intruder) send(t *testing.T, to netip.AddrPort, message []byte) {
	t.Helper()
	addr, err := x.av.Insert(fi.SocketAddr(to))
	if err != nil {
		t.Fatalf("Insert: got error %v, want none", err)
	}
	copy(x.mem, message)
	op := fi.Op{EP: x.ep.Handle(), Addr: addr, Kind: fi.Send, Flags: fi.Completion, Count: 1}
	op.Pieces[0] = fi.Piece{Base: uint64(uintptr(unsafe.Pointer(&x.mem[0]))), Len: uint64(len(message)), Desc: x.mr.Desc()}
	posted := false
	for limit := time.Now().Add(backendtest.Patience); time.Now().Before(limit); {
		n := 0
		if !posted {
			x.ring.Ops[0] = op
			n = 1
		}
		done := x.ring.Turn(n, 1, 16)
		posted = posted || x.ring.Ops[0].Err() == 0
		if done > 0 {
			return
		}
	}
	t.Fatalf("send: got no completion, want one")
}
