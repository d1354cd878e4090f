// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package node_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"testing"
	"time"

	"tagbus/netio"
	"tagbus/netio/rdma"
	"tagbus/netio/reactor"
)

// connecting hands over how it went to connect.
type connecting struct {
	netio.NopHandler
	done chan error
}

func (c connecting) OnConnectionEstablished(netio.Endpoint)          { c.done <- nil }
func (c connecting) OnConnectionRefused(_ netip.AddrPort, err error) { c.done <- err }

// openVerbs opens a backend over verbs for the time of the test.
func openVerbs(t *testing.T, h netio.Handler) netio.Backend {
	t.Helper()
	loop, err := reactor.New(reactor.Config{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := rdma.Opener(loop, rdma.Config{Provider: rdma.ProviderVerbs})(h)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- loop.Run(context.Background()) }()
	t.Cleanup(func() {
		err := b.Close()
		loop.Stop()
		if err := errors.Join(err, <-ended, loop.Close()); err != nil {
			t.Errorf("close a backend: got error %v, want none", err)
		}
	})
	return b
}

// TestNode_aDeviceThatIsMadeLeavesTheOthersAlone makes devices while another one is
// listened on, and has other threads look for devices then. With librdmacm of Debian
// 12 a device was opened a second time when the thread that saw a new one was not that
// which had seen it first: all that connected from then on was refused.
//
// It stands here and not beside the backend because the tests of this package have the
// virtual machine for themselves (test/verbs/suite.sh).
func TestNode_aDeviceThatIsMadeLeavesTheOthersAlone(t *testing.T) {
	if os.Getenv("NETIO_RDMA_SOFT") != "yes" {
		t.Skip("no RDMA device beside which others may be made; where there is Soft-RoCE NETIO_RDMA_SOFT=yes runs this test")
	}
	host := netip.AddrPortFrom(netip.MustParseAddr(os.Getenv("NETIO_RDMA_ADDR")), 0)
	params := netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: 4 << 10, Buffers: 2}}
	server := openVerbs(t, netio.NopHandler{})
	l, err := server.OpenListenEndpoint(host, params)
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	stay := make(chan struct{}) // a thread that ends leaves its memory to the next
	defer close(stay)
	const devices = 3 // they stay, see softDevice
	for i := range devices {
		link := fmt.Sprintf("m%dp%d", i, os.Getpid())
		command(t, "ip", "link", "add", link, "type", "dummy")
		command(t, "ip", "link", "set", link, "up")
		command(t, "rdma", "link", "add", "rxe"+link, "type", "rxe", "netdev", link)
		other := openVerbs(t, netio.NopHandler{})
		looked := make(chan error)
		go func() {
			runtime.LockOSThread() // and never unlock
			_, err := other.OpenListenEndpoint(host, params)
			looked <- err
			<-stay
		}()
		if err := <-looked; err != nil {
			t.Fatalf("OpenListenEndpoint on another thread: got error %v, want none", err)
		}
		h := connecting{done: make(chan error, 1)}
		if err := openVerbs(t, h).OpenEndpoint(l.Addr(), params); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
		select {
		case err := <-h.done:
			if err != nil {
				t.Errorf("after device %d was made: got error %v, want to connect", i, err)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("connect: got nothing for 30 s, want an outcome")
		}
	}
	if got := server.Stats().AcceptErrors; got != 0 {
		t.Errorf("Stats.AcceptErrors: got %d, want 0", got)
	}
}
