// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/rdma"
)

// rdmConfigs are those of backends without connections of libfabric, over what
// runs on any machine: two generations of sockets.
func rdmConfigs() []rdma.Config {
	if p := os.Getenv("NETIO_RDM_PROV"); p != "" {
		return []rdma.Config{{Provider: p, Connectionless: true}}
	}
	return []rdma.Config{{Provider: "tcp;ofi_rxm"}, {Provider: rdma.ProviderNet, Connectionless: true}}
}

// rdmHost is where they listen.
var rdmHost = netip.MustParseAddrPort("127.0.0.1:0")

// rdmSuite describes backends without connections to the conformance suite.
func rdmSuite(cfg rdma.Config) netiotest.Suite {
	s := suite(cfg)
	s.ListenAddr = rdmHost
	s.DeadAddr = func(t netiotest.TB) netip.AddrPort {
		// One of a backend that does not listen: without a peer there is only
		// ErrTimeout, after a while.
		cfg.Config = netio.Config{}
		opened, _ := openBond(t, cfg, newWatcher(), newWatcher(), netio.Params{})
		return opened.Local()
	}
	s.Endpoints = netiotest.Few(40, 10)
	s.ConnectTimeout = 3 * time.Second
	return s
}

// openBond opens an endpoint between two backends, and returns both ends.
func openBond(t netiotest.TB, cfg rdma.Config, client, server *watcher, p netio.Params) (opened, accepted netio.Endpoint) {
	t.Helper()
	l, err := openBackend(t, server, cfg).OpenListenEndpoint(rdmHost, p)
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	if err := openBackend(t, client, cfg).OpenEndpoint(l.Addr(), p); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	return backendtest.Next(t, "OnConnectionEstablished", client.Established), backendtest.Next(t, "OnConnectionEstablished", server.Established)
}

// besideDevice skips a test that takes long and does not touch the device.
func besideDevice(t *testing.T) {
	t.Helper()
	if testing.Short() && provider() == rdma.ProviderVerbs {
		t.Skip("left out with -short: it does not use the RDMA device that there is")
	}
}

func TestBackend_conformanceWithoutConnections(t *testing.T) {
	besideDevice(t)
	// What differs from provider to provider is not much: the second one is tried in
	// one configuration. So is each under the race detector, in another one.
	tests := []struct {
		name           string
		cfg            netio.Config
		receiveBuffers int
		second, race   bool
	}{
		{name: "default buffers"},
		{name: "one receive buffer", cfg: netio.Config{ThreadSafety: netio.Unsafe}, receiveBuffers: 1, race: true},
		{name: "shared buffers", cfg: netio.Config{
			SharedReceive: netio.SharedBuffers{Buffers: 8, BufferBytes: messageBytes()},
			SharedSend:    netio.SharedBuffers{Buffers: 8, BufferBytes: 8 << 10},
		}, second: true},
	}
	for i, cfg := range rdmConfigs() {
		for _, tt := range tests {
			if i > 0 && !tt.second {
				continue
			}
			t.Run(tt.name+", "+strings.ReplaceAll(cfg.Provider, ";", "+"), func(t *testing.T) {
				race := tt.race == (i == 0)
				backendtest.Only(t, race, !race)
				cfg.Config = tt.cfg
				s := rdmSuite(cfg)
				s.ReceiveBuffers = tt.receiveBuffers
				s.Violations = backendtest.Violations(t)
				netiotest.Run(t, s)
			})
		}
	}
}

// TestBackend_randomRunWithoutConnections drives backends at random against the suite's
// model. The provider net forgets sockets of peers that connect while it closes.
func TestBackend_randomRunWithoutConnections(t *testing.T) {
	besideDevice(t)
	backendtest.Only(t, true, false)
	cfg := rdmConfigs()[0]
	s := rdmSuite(cfg)
	s.Walks = 12 // each dials several times where no listener answers
	s.ListenAddr = backendtest.OwnHost()
	s.ReceiveBuffers = 2
	netiotest.RandomRun(t, s)
}

// TestEndpoint_aPauseKeepsWhatHasCome: without connections nothing of the system holds it, and the peer that closes is given a
// time for the sends of this side to end.
func TestEndpoint_aPauseKeepsWhatHasCome(t *testing.T) {
	client, server := newWatcher(), newWatcher()
	server.AtEstablished = func(ep netio.Endpoint) { ep.PauseReceive() }
	b := openBackend(t, server, rxm)
	l, err := b.OpenListenEndpoint(rdmHost, netio.Params{})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	if err := openBackend(t, client, rxm).OpenEndpoint(l.Addr(), netio.Params{Buffered: netio.BufferedParams{Buffers: 4}}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	opened, accepted := next(t, "OnConnectionEstablished", client.Established), next(t, "OnConnectionEstablished", server.Established)
	for range 3 {
		if err := sendText(opened, "hello"); err != nil {
			t.Fatalf("send: got error %v, want none", err)
		}
		next(t, "OnSendCompleted", client.Completed)
	}
	if err := opened.Close(); err != nil {
		t.Fatalf("Close: got error %v, want none", err)
	}
	backendtest.WaitFor(t, b.Loop(), "the peer has gone", func() bool { return rdma.PeerIsGone(accepted) })
	for range 3 {
		onLoop(t, b.Loop(), func() { rdma.PassLimit(accepted) })
	}
	if got := len(server.Closed); got > 0 {
		t.Fatalf("OnConnectionClosed of an endpoint that is paused: got cause %v, want none before the messages", (<-server.Closed).Cause)
	}
	onLoop(t, b.Loop(), accepted.ResumeReceive)
	for range 3 {
		next(t, "OnData", server.Data)
	}
	if end := next(t, "OnConnectionClosed", server.Closed); !errors.Is(end.Cause, io.EOF) {
		t.Errorf("OnConnectionClosed: got cause %v, want %v", end.Cause, io.EOF)
	}
}
