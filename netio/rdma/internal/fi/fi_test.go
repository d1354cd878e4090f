// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package fi_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"tagbus/netio/rdma/internal/fi"
)

func TestErrorsHaveTheWordsOfLibfabric(t *testing.T) {
	err := error(&fi.Error{Call: "fi_listen", Errno: fi.Errno(syscall.EADDRINUSE)})
	if got, want := err.Error(), "fi_listen: Address already in use"; got != want {
		t.Errorf("Error: got %q, want %q", got, want)
	}
	if !errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("errors.Is: got another number of the system, want EADDRINUSE")
	}
	var number fi.Errno
	if !errors.As(err, &number) || number != fi.Errno(syscall.EADDRINUSE) {
		t.Errorf("errors.As: got %v, want the number", number)
	}
	if got := fi.ETRUNC.Error(); !strings.Contains(strings.ToLower(got), "trunc") {
		t.Errorf("text of FI_ETRUNC: got %q, want one about truncation", got)
	}
}

func TestVersion(t *testing.T) {
	if major, minor := fi.Version(); major < 1 || major == 1 && minor < 11 {
		t.Errorf("version of libfabric: got %d.%d, want at least 1.11", major, minor)
	}
}

func TestEnvironmentIsPrepared(t *testing.T) {
	_, _ = fi.GetInfo(fi.Hints{Provider: "none such"})
	for name, want := range map[string]string{"FI_MR_CACHE_MONITOR": "disabled", "IPATH_NO_BACKTRACE": "1"} {
		if got := os.Getenv(name); got != want {
			t.Errorf("%s after the first GetInfo: got %q, want %q", name, got, want)
		}
	}
}

func TestGetInfoOfNoProvider(t *testing.T) {
	_, err := fi.GetInfo(fi.Hints{Provider: "none such"})
	if !errors.Is(err, fi.ENODATA) {
		t.Errorf("GetInfo of a provider that does not exist: got %v, want %v", err, fi.ENODATA)
	}
}

func TestInfo(t *testing.T) {
	i := must(fi.GetInfo(fi.Hints{Provider: provider(), Addr: loopback(), Listen: true, TxSize: 12, RxSize: 34}))(t)
	defer i.Free()
	if i.Provider() != provider() || i.Fabric() == "" || i.Domain() == "" {
		t.Errorf("names: got provider %q, fabric %q, domain %q, want %q and some", i.Provider(), i.Fabric(), i.Domain(), provider())
	}
	l := i.Limits()
	if l.TxSize < 12 || l.RxSize < 34 || l.MessageBytes < 1<<20 || l.TxPieces < 2 || l.InjectBytes < 1 {
		t.Errorf("limits: got %+v, want those asked for", l)
	}
}

func TestConnect(t *testing.T) {
	c := connect(t, false)
	defer c.close(t)
	if !bytes.HasPrefix(c.asked, []byte(question)) || !bytes.HasPrefix(c.given, []byte("the answer")) {
		t.Errorf("data of the connection: got %q and %q, want the question and the answer", c.asked, c.given)
	}
	if c.addr.Port() == 0 || c.addr.Addr() != loopback().Addr() {
		t.Errorf("name of the passive endpoint: got %v, want a port of %v", c.addr, loopback().Addr())
	}
	if got := must(c.client.ep.Name())(t); got.Port() == 0 {
		t.Errorf("name of the client: got %v, want one with a port", got)
	}
	if got := must(c.server.ep.Name())(t); got != c.addr {
		t.Errorf("name of the server: got %v, want %v", got, c.addr)
	}
}

func TestConnectionIsRefused(t *testing.T) {
	c := listen(t)
	defer c.close(t)
	c.dial(t, c.addr)
	i := c.request(t)
	if got, want := i.RemoteAddr().Addr(), loopback().Addr(); got != want {
		t.Errorf("address of who asks: got %v, want %v", got, want)
	}
	succeed(t, c.pep.Reject(i))
	e := nextEvent(t, c.client.eq)
	if e.Type != fi.Failed || !errors.Is(e.Err, syscall.ECONNREFUSED) || e.Context != clientContext {
		t.Errorf("event after Reject: got %+v, want ECONNREFUSED of the client", e)
	}
}

func TestPortInUse(t *testing.T) {
	c := listen(t)
	defer c.close(t)
	i, err := fi.GetInfo(fi.Hints{Provider: provider(), Addr: c.addr, Listen: true})
	if err == nil {
		defer i.Free()
		var pep *fi.PEP
		if pep, err = c.server.fabric.OpenPEP(i); err == nil {
			succeed(t, pep.Bind(c.listen))
			err = pep.Listen()
			succeed(t, pep.Close())
		}
	}
	if !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, fi.ENODATA) { // verbs knows no better
		t.Errorf("listen on a port in use: got %v, want %v", err, syscall.EADDRINUSE)
	}
}

// exchange sends n messages from one end to the other, with sizes that differ,
// and checks what arrives.
func exchange(t *testing.T, from, to *end, n int) {
	t.Helper()
	sizes := []int{1, 0, 100, 4096, slotBytes, 128, 129, 65536}
	sent, done, got := 0, 0, 0
	await(t, "all messages", func() bool {
		if sent < n && sent-got < slots && sent-done < slots {
			slot := slots + sent%slots
			size := sizes[sent%len(sizes)]
			fill(from.mem[slot*slotBytes:slot*slotBytes+size], byte(sent))
			from.ring.Ops[0] = from.op(fi.Send, slot, size)
			from.post(t, 1)
			sent++
		}
		for _, c := range from.drain(t) {
			if c.Err() != 0 || c.Received() || c.Context != uint64(slots+done%slots) {
				t.Fatalf("completion %d of the sender: got context %d and error %v, want %d", done, c.Context, c.Err(), slots+done%slots)
			}
			done++
		}
		posts := 0
		for _, c := range to.drain(t) {
			want := make([]byte, sizes[got%len(sizes)])
			fill(want, byte(got))
			slot := int(c.Context)
			if c.Err() != 0 || !c.Received() || !bytes.Equal(to.mem[slot*slotBytes:slot*slotBytes+c.Len()], want) {
				t.Fatalf("message %d: got %d bytes and error %v, want %d bytes as they were sent", got, c.Len(), c.Err(), len(want))
			}
			got++
			to.ring.Ops[posts] = to.op(fi.Recv, slot, slotBytes)
			posts++
		}
		to.post(t, posts)
		return got == n && done == n
	})
}

func fill(mem []byte, seed byte) {
	for i := range mem {
		mem[i] = seed + byte(i) + byte(i>>8)*3
	}
}

func TestMessages(t *testing.T) {
	n := 100
	if testing.Short() { // for a device that is slow
		n = 20
	}
	for _, shared := range []bool{false, true} {
		c := connect(t, shared)
		exchange(t, c.client, c.server, n)
		exchange(t, c.server, c.client, n)
		c.close(t)
	}
}

func TestPiecesAndFlags(t *testing.T) {
	c := connect(t, false)
	defer c.close(t)
	send := c.client
	ops := send.ring.Ops
	for i := range 3 { // the first two complete with the third
		a, b := send.op(fi.Send, slots+2*i, 5), send.op(fi.Send, slots+2*i+1, 3)
		copy(send.mem[(slots+2*i)*slotBytes:], "hello")
		copy(send.mem[(slots+2*i+1)*slotBytes:], "you")
		a.Pieces[1], a.Count, a.Flags = b.Pieces[0], 2, fi.Inject
		ops[i] = a
	}
	ops[2].Flags |= fi.Completion
	send.post(t, 3)
	for i := range 6 { // they were injected
		clear(send.mem[(slots+i)*slotBytes : (slots+i)*slotBytes+8])
	}
	received, completed := 0, 0
	await(t, "three messages", func() bool {
		for _, done := range send.drain(t) {
			if completed++; done.Context != ops[2].Context || done.Err() != 0 {
				t.Fatalf("completion: got context %d and error %v, want that of the third", done.Context, done.Err())
			}
		}
		for _, done := range c.server.drain(t) {
			at := int(done.Context) * slotBytes
			if got := string(c.server.mem[at : at+done.Len()]); got != "helloyou" {
				t.Fatalf("message of two pieces: got %q, want %q", got, "helloyou")
			}
			received++
		}
		return received == 3 && completed == 1
	})
}

// TestEmptyMessages sends what has no memory: with verbs libfabric 1.17 asks for
// its registration all the same, if it is given a list of them.
func TestEmptyMessages(t *testing.T) {
	c := connect(t, false)
	defer c.close(t)
	for i := range slots {
		c.client.ring.Ops[0] = fi.Op{EP: c.client.ep.Handle(), Context: uint64(i), Flags: fi.Completion | fi.Inject}
		c.client.post(t, 1)
		if got := waitCompletions(t, c.server); len(got) != 1 || got[0].Err() != 0 || got[0].Len() != 0 {
			t.Fatalf("message %d: got %d completions, the first of %d bytes and error %v, want one of none", i, len(got), got[0].Len(), got[0].Err())
		}
		if got := waitCompletions(t, c.client); len(got) != 1 || got[0].Err() != 0 || got[0].Context != uint64(i) {
			t.Fatalf("send %d: got %+v, want one completion", i, got)
		}
	}
}

// TestArmedQueueTellsOfTheNext waits on the descriptors only, and so would stand
// still if Armed were not true.
func TestArmedQueueTellsOfTheNext(t *testing.T) {
	c := connect(t, false)
	defer c.close(t)
	for i := range 200 {
		c.client.ring.Ops[0] = c.client.op(fi.Send, slots, 1+i)
		c.client.post(t, 1)
		if got := waitCompletions(t, c.server); len(got) != 1 || got[0].Len() != 1+i {
			t.Fatalf("message %d: got %d completions, want one of %d bytes", i, len(got), 1+i)
		}
		c.server.ring.Ops[0] = c.server.op(fi.Recv, int(c.server.ring.Completed[0].Context), slotBytes)
		c.server.post(t, 1)
		if got := waitCompletions(t, c.client); len(got) != 1 || got[0].Err() != 0 {
			t.Fatalf("send %d: got %d completions, want one", i, len(got))
		}
	}
}

// waitCompletions drains until there is something, and sleeps on the descriptor
// whenever the queue is armed.
func waitCompletions(t *testing.T, e *end) (got []fi.Completed) {
	t.Helper()
	await(t, "a completion", func() bool {
		if got = e.drain(t); len(got) > 0 {
			return true
		}
		if e.ring.Drains[0].Armed() {
			pollFD(t, e.cq.FD())
		}
		return false
	})
	return got
}
