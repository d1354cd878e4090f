// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package fi_test

import (
	"bytes"
	"net/netip"
	"os"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"tagbus/netio/rdma/internal/fi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// provider is what the tests use: that of NETIO_RDMA_PROV, or tcp, which runs
// everywhere.
func provider() string {
	if p := os.Getenv("NETIO_RDMA_PROV"); p != "" {
		return p
	}
	return "tcp"
}

// loopback is an address of this machine that the provider has.
func loopback() netip.AddrPort {
	host := os.Getenv("NETIO_RDMA_ADDR")
	if host == "" {
		host = "127.0.0.1"
	}
	return netip.AddrPortFrom(netip.MustParseAddr(host), 0)
}

// must fails the test if an error is not nil.
func must[T any](v T, err error) func(tb testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		if err != nil {
			tb.Fatalf("got error %v, want none", err)
		}
		return v
	}
}

func succeed(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("got error %v, want none", err)
	}
}

// slots are the receives of an end, slotBytes the size of each.
const (
	slots     = 16
	slotBytes = 1 << 20
	ringSize  = 64
)

// end is one side of a connection.
type end struct {
	fabric *fi.Fabric
	domain *fi.Domain
	eq     *fi.EQ
	cq     *fi.CQ
	ep     *fi.EP
	srx    *fi.SRX
	mem    []byte // slots to receive, then as many to send
	mr     *fi.MR
	ring   *fi.Ring
}

func openEnd(tb testing.TB, i *fi.Info) *end {
	tb.Helper()
	e := &end{}
	e.fabric = must(fi.OpenFabric(i))(tb)
	e.eq = must(e.fabric.OpenEQ())(tb)
	e.domain = must(e.fabric.OpenDomain(i))(tb)
	e.cq = must(e.domain.OpenCQ(4 * slots))(tb)
	e.mem = must(unix.Mmap(-1, 0, 2*slots*slotBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON))(tb)
	e.mr = must(e.domain.Register(e.mem))(tb)
	e.ring = fi.NewRing(ringSize, 1, ringSize)
	e.ring.Drains[0] = e.cq.Drain()
	return e
}

func (e *end) openEP(tb testing.TB, i *fi.Info, context uint64) {
	tb.Helper()
	e.ep = must(e.domain.OpenEP(i, context, e.srx != nil))(tb)
	succeed(tb, e.ep.Bind(e.eq, e.cq, e.srx))
	succeed(tb, e.ep.Enable())
}

// op returns a request about a slot: 0 to slots-1 to receive, from there to send.
func (e *end) op(kind uint16, slot, size int) fi.Op {
	at := e.mem[slot*slotBytes:]
	op := fi.Op{EP: e.ep.Handle(), Context: uint64(slot), Kind: kind, Flags: fi.Completion, Count: 1}
	if e.srx != nil && kind == fi.Recv {
		op.EP = e.srx.Handle()
	}
	op.Pieces[0] = fi.Piece{Base: uint64(uintptr(unsafe.Pointer(&at[0]))), Len: uint64(size), Desc: e.mr.Desc()}
	return op
}

// postReceives posts all receives.
func (e *end) postReceives(tb testing.TB) {
	tb.Helper()
	for i := range slots {
		e.ring.Ops[i] = e.op(fi.Recv, i, slotBytes)
	}
	e.ring.Turn(slots, 0, 0)
	for i := range slots {
		if err := e.ring.Ops[i].Err(); err != 0 {
			tb.Fatalf("post receive %d: got error %v, want none", i, err)
		}
	}
}

// post posts the first n of the ring's Ops.
func (e *end) post(tb testing.TB, n int) {
	tb.Helper()
	e.ring.Turn(n, 0, 0)
	for i := range n {
		if err := e.ring.Ops[i].Err(); err != 0 {
			tb.Fatalf("post %d: got error %v, want none", i, err)
		}
	}
}

// drain returns what has completed.
func (e *end) drain(tb testing.TB) []fi.Completed {
	tb.Helper()
	n := e.ring.Turn(0, 1, ringSize)
	if err := e.ring.Drains[0].Err(); err != 0 {
		tb.Fatalf("read completions: got error %v, want none", err)
	}
	return e.ring.Completed[:n]
}

func (e *end) close(tb testing.TB) {
	tb.Helper()
	if e.ep != nil {
		succeed(tb, e.ep.Close())
	}
	if e.srx != nil {
		succeed(tb, e.srx.Close())
	}
	succeed(tb, e.mr.Close())
	succeed(tb, e.cq.Close())
	succeed(tb, e.domain.Close())
	succeed(tb, e.eq.Close())
	succeed(tb, e.fabric.Close())
	succeed(tb, unix.Munmap(e.mem))
	e.ring.Free()
}

// patience is how long something that must happen may take.
const patience = 20 * time.Second

// await polls all ends until done.
func await(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	for limit := time.Now().Add(patience); !done(); {
		if time.Now().After(limit) {
			tb.Fatalf("got nothing for %v, want %s", patience, what)
		}
	}
}

// nextEvent returns the next event of any of the queues.
func nextEvent(tb testing.TB, queues ...*fi.EQ) fi.Event {
	tb.Helper()
	var got []fi.Event
	await(tb, "an event", func() bool {
		for _, q := range queues {
			for _, e := range q.Read() {
				if e.Type == fi.ConnectionRequest && !bytes.HasPrefix(e.Data, []byte(question)) {
					e.Info.Free() // a test of another package dials a port that it had
					continue
				}
				got = append(got, e)
			}
			if len(got) > 0 {
				return true
			}
		}
		return false
	})
	if len(got) > 1 {
		tb.Fatalf("events: got %+v, want one at a time", got)
	}
	return got[0]
}

// connection are two ends that are connected, the second by its request.
type connection struct {
	pep          *fi.PEP
	listen       *fi.EQ
	server       *end
	client       *end
	addr         netip.AddrPort
	asked, given []byte // data that came with the request and with its acceptance
}

// question comes with the requests of these tests.
const question = "the question"

// contexts of the two endpoints.
const (
	serverContext = 1<<40 | 7
	clientContext = 1<<41 | 9
)

func listen(tb testing.TB) *connection {
	tb.Helper()
	i := must(fi.GetInfo(fi.Hints{Provider: provider(), Addr: loopback(), Listen: true, TxSize: slots, RxSize: slots}))(tb)
	defer i.Free()
	c := &connection{server: openEnd(tb, i)}
	c.listen = must(c.server.fabric.OpenEQ())(tb)
	c.pep = must(c.server.fabric.OpenPEP(i))(tb)
	succeed(tb, c.pep.Bind(c.listen))
	succeed(tb, c.pep.Listen())
	c.addr = must(c.pep.Name())(tb)
	return c
}

// dial opens the client and asks for the connection.
func (c *connection) dial(tb testing.TB, addr netip.AddrPort) {
	tb.Helper()
	i := must(fi.GetInfo(fi.Hints{Provider: provider(), Addr: addr, TxSize: slots, RxSize: slots}))(tb)
	defer i.Free()
	c.client = openEnd(tb, i)
	c.client.openEP(tb, i, clientContext)
	c.client.postReceives(tb)
	succeed(tb, c.client.ep.Connect(i, []byte(question)))
}

// request waits for the client's request.
func (c *connection) request(tb testing.TB) *fi.Info {
	tb.Helper()
	e := nextEvent(tb, c.listen, c.client.eq)
	if e.Type != fi.ConnectionRequest || e.Info == nil {
		tb.Fatalf("event: got %+v, want a request to connect", e)
	}
	c.asked = append([]byte(nil), e.Data...)
	return e.Info
}

func connect(tb testing.TB, shared bool) *connection {
	tb.Helper()
	c := listen(tb)
	c.dial(tb, c.addr)
	i := c.request(tb)
	defer i.Free()
	if shared {
		c.server.srx = must(c.server.domain.OpenSRX(i, slots))(tb)
	}
	c.server.openEP(tb, i, serverContext)
	c.server.postReceives(tb)
	succeed(tb, c.server.ep.Accept([]byte("the answer")))
	seen := map[uint64]bool{}
	for range 2 {
		e := nextEvent(tb, c.server.eq, c.client.eq)
		if e.Type != fi.Connected {
			tb.Fatalf("event: got %+v, want connected", e)
		}
		if e.Context == clientContext {
			c.given = append([]byte(nil), e.Data...)
		}
		seen[e.Context] = true
	}
	if !seen[clientContext] || !seen[serverContext] {
		tb.Fatalf("contexts of the events: got %v, want both endpoints'", seen)
	}
	return c
}

func (c *connection) close(tb testing.TB) {
	tb.Helper()
	if c.client != nil {
		c.client.close(tb)
	}
	succeed(tb, c.pep.Close())
	succeed(tb, c.listen.Close())
	c.server.close(tb)
}
