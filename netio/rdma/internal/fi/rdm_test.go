// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package fi_test

import (
	"encoding/binary"
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio/rdma/internal/fi"
)

// rdmProviders are those without connections that run on any machine.
func rdmProviders() []string {
	if p := os.Getenv("NETIO_RDM_PROV"); p != "" {
		return []string{p}
	}
	return []string{"tcp;ofi_rxm", "net", "shm"}
}

// openRDM returns an end without connection, at addr if the provider has such
// addresses, with its receives posted.
func openRDM(tb testing.TB, provider string, addr netip.AddrPort) *rdmEnd {
	tb.Helper()
	h := fi.Hints{RDM: true, Provider: provider, Addr: addr, Listen: true, TxSize: 64, RxSize: 64}
	if provider == "shm" {
		h.Addr, h.Listen = netip.AddrPort{}, false
	}
	i := must(fi.GetInfo(h))(tb)
	defer i.Free()
	e := &rdmEnd{end: &end{}}
	e.fabric = must(fi.OpenFabric(i))(tb)
	e.domain = must(e.fabric.OpenDomain(i))(tb)
	e.cq = must(e.domain.OpenCQ(4 * slots))(tb)
	e.av = must(e.domain.OpenAV())(tb)
	e.ep = must(e.domain.OpenEP(i, 1, false))(tb)
	succeed(tb, e.ep.BindAV(e.av, e.cq))
	succeed(tb, e.ep.Enable())
	e.name = must(e.ep.RawName())(tb)
	e.mem = must(unix.Mmap(-1, 0, 2*slots*slotBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON))(tb)
	e.mr = must(e.domain.Register(e.mem))(tb)
	e.ring = fi.NewRing(ringSize, 1, ringSize)
	e.ring.Drains[0] = e.cq.Drain()
	tb.Cleanup(func() {
		succeed(tb, e.ep.Close())
		succeed(tb, e.av.Close())
		succeed(tb, e.cq.Close())
		succeed(tb, e.mr.Close())
		succeed(tb, e.domain.Close())
		succeed(tb, e.fabric.Close())
		e.ring.Free()
		succeed(tb, unix.Munmap(e.mem))
	})
	e.postReceives(tb)
	return e
}

// rdmEnd is an end of type FI_EP_RDM.
type rdmEnd struct {
	*end
	av   *fi.AV
	name []byte
}

// sendAcross sends count messages of size bytes from a to b, and checks that they
// arrive unchanged.
func sendAcross(tb testing.TB, a, b *rdmEnd, to uint64, size, count int) {
	tb.Helper()
	sent, completed, received := 0, 0, 0
	arrived := map[uint64]bool{}
	for limit := time.Now().Add(10 * time.Second); completed < count || received < count; {
		if time.Now().After(limit) {
			tb.Fatalf("got %d messages and %d completions of %d in 10 s, want all", received, completed, count)
		}
		if sent < count && sent-completed < slots {
			slot := slots + sent%slots
			binary.LittleEndian.PutUint64(a.mem[slot*slotBytes:], uint64(sent))
			a.mem[slot*slotBytes+size-1] = byte(sent + size)
			op := a.op(fi.Send, slot, size)
			op.Addr = to
			a.ring.Ops[0] = op
			a.ring.Turn(1, 0, 0)
			switch err := a.ring.Ops[0].Err(); err {
			case 0:
				sent++
			case fi.EAGAIN: // it connects underneath
			default:
				tb.Fatalf("send: got error %v, want none", err)
			}
		}
		for _, c := range a.drain(tb) {
			if c.Err() != 0 {
				tb.Fatalf("completion of a send: got error %v, want none", c.Err())
			}
			completed++
		}
		for _, c := range b.drain(tb) {
			if c.Err() != 0 || !c.Received() || c.Len() != size {
				tb.Fatalf("completion of a receive: got %+v with error %v, want %d bytes", c, c.Err(), size)
			}
			at := b.mem[int(c.Context)*slotBytes:]
			n := binary.LittleEndian.Uint64(at)
			if n >= uint64(count) || arrived[n] || at[size-1] != byte(n+uint64(size)) && size > 8 {
				tb.Fatalf("message: got number %d ending with %d, want one that is new and unchanged", n, at[size-1])
			}
			arrived[n] = true
			received++
			b.ring.Ops[0] = b.op(fi.Recv, int(c.Context), slotBytes)
			b.post(tb, 1)
		}
	}
}

func TestMessagesWithoutConnection(t *testing.T) {
	for _, p := range rdmProviders() {
		t.Run(p, func(t *testing.T) {
			a, b := openRDM(t, p, loopback()), openRDM(t, p, loopback())
			toB, toA := must(a.av.Insert(b.name))(t), must(b.av.Insert(a.name))(t)
			for _, size := range []int{9, 4 << 10, 20 << 10, 100 << 10, 1 << 20} {
				sendAcross(t, a, b, toB, size, 50)
				sendAcross(t, b, a, toA, size, 50)
			}
			succeed(t, a.av.Remove(toB))
			if want := p != "shm"; a.cq.FD() >= 0 != want {
				t.Errorf("descriptor of the queue: got %d, want one: %v", a.cq.FD(), want)
			}
		})
	}
}

func TestAnAddressThatIsNone(t *testing.T) {
	a := openRDM(t, "tcp;ofi_rxm", loopback())
	if addr, err := a.av.Insert(nil); err == nil {
		t.Errorf("insert no address: got %d, want an error", addr)
	}
}

func TestSocketAddrs(t *testing.T) {
	for _, text := range []string{"127.0.0.1:80", "[::1]:65535", "[fe80::1%lo]:9", "0.0.0.0:0"} {
		want := netip.MustParseAddrPort(text)
		if got := fi.ParseSocketAddr(fi.SocketAddr(want)); got != want {
			t.Errorf("there and back: got %v, want %v", got, want)
		}
	}
	if got := fi.ParseSocketAddr([]byte("fi_shm://1:0:0")); got.IsValid() {
		t.Errorf("another address: got %v, want the zero AddrPort", got)
	}
}
