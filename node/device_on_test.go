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
	"slices"
	"strings"
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

// TestNode_aDeviceWhoseNameBeginsThatOfAnother: libfabric took the other one for it where no device was
// named, and then nothing connected (fi_enable: Invalid argument).
func TestNode_aDeviceWhoseNameBeginsThatOfAnother(t *testing.T) {
	if os.Getenv("NETIO_RDMA_SOFT") != "yes" {
		t.Skip("no RDMA device beside which others may be made; where there is Soft-RoCE NETIO_RDMA_SOFT=yes runs this test")
	}
	if !inHostOfTwo(t) {
		return
	}
	params := netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: 4 << 10, Buffers: 2}}
	survey, err := rdma.Fabrics()
	if err != nil {
		t.Fatal(err)
	}
	connected := 0
	for _, f := range survey.Fabrics {
		if f.Provider != rdma.ProviderVerbs || !strings.Contains(","+os.Getenv(twoDevices)+",", ","+f.Domain+",") || !f.Usable {
			continue
		}
		i := slices.IndexFunc(f.Addresses, netip.Addr.Is4)
		if i < 0 {
			t.Fatalf("%s: got addresses %v, want one of IPv4", f.Domain, f.Addresses)
		}
		l, err := openVerbs(t, netio.NopHandler{}).OpenListenEndpoint(netip.AddrPortFrom(f.Addresses[i], 0), params)
		if err != nil {
			t.Fatalf("%s: OpenListenEndpoint: got error %v, want none", f.Domain, err)
		}
		h := connecting{done: make(chan error, 1)}
		if err := openVerbs(t, h).OpenEndpoint(l.Addr(), params); err != nil {
			t.Fatalf("%s: OpenEndpoint: got error %v, want none", f.Domain, err)
		}
		select {
		case err := <-h.done:
			if err != nil {
				t.Errorf("%s: got error %v, want to connect", f.Domain, err)
			}
			connected++
		case <-time.After(30 * time.Second):
			t.Fatalf("%s: got nothing for 30 s, want to connect", f.Domain)
		}
	}
	if connected != 2 {
		t.Errorf("got outcomes of %d devices in\n%s\nwant both", connected, survey.Text())
	}
}

// TestNode_aPeerThatCannotBeResolvedHoldsUpNothing: libfabric waits up to 2 s until an address has answered, and
// more than one device is on the loop.
func TestNode_aPeerThatCannotBeResolvedHoldsUpNothing(t *testing.T) {
	if os.Getenv("NETIO_RDMA_SOFT") != "yes" {
		t.Skip("no RDMA device beside which others may be made; where there is Soft-RoCE NETIO_RDMA_SOFT=yes runs this test")
	}
	if !inHostOfTwo(t) {
		return
	}
	name, _, _ := strings.Cut(os.Getenv(twoDevices), ",")
	command(t, "ip", "link", "set", "dev", "n"+name, "arp", "on")
	survey, err := rdma.Fabrics()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(survey.Fabrics, func(f rdma.Fabric) bool { return f.Domain == name && f.Usable })
	if at < 0 {
		t.Fatalf("no device %s in\n%s", name, survey.Text())
	}
	silent := survey.Fabrics[at].Addresses[0].As4()
	silent[3] = 77
	h := connecting{done: make(chan error, 1)}
	b := openVerbs(t, h)
	if err := b.OpenEndpoint(netip.AddrPortFrom(netip.AddrFrom4(silent), 7000), netio.Params{ConnectTimeout: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
	var worst time.Duration
	for turn := make(chan struct{}); ; {
		begin := time.Now()
		b.Loop().Post(func() { turn <- struct{}{} })
		<-turn
		worst = max(worst, time.Since(begin))
		select {
		case err := <-h.done:
			t.Logf("refused: %v; the loop was away for %v", err, worst)
			if err == nil {
				t.Error("connected to an address that no host has")
			}
			if worst > 2*time.Second { // which libfabric waits, and more
				t.Errorf("the loop was away for %v, want at most 2 s", worst)
			}
			return
		case <-time.After(time.Millisecond):
		}
	}
}
