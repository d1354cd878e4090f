// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package node_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/bus/state"
	"tagbus/internal/testkit"
	"tagbus/node"
	"tagbus/tags"
)

// TestNode_aDeviceIsRemoved under load: the subscribers that used it are connected by the other one within
// seconds, and have each message or are told that it is lost, as the publisher counts.
func TestNode_aDeviceIsRemoved(t *testing.T) {
	if !inHostOfTwo(t) {
		return
	}
	first, second, _ := strings.Cut(os.Getenv(twoDevices), ",")
	if backend != "rdma:verbs" {
		command(t, "ip", "link", "set", "lo", "up")
		makeInterface(t, first, 1)
		makeInterface(t, second, 2)
	}
	least, burst := 4, testkit.Fewer(1000)
	if testing.Short() { // processors that are emulated cannot do everything at once
		least, burst = 2, 100
	}
	names := [2]string{backend + "@" + first, backend + "@" + second}
	cfg := node.Config{Bus: t.TempDir(), Backend: strings.Join(names[:], ",")}
	common := bus.Common{HeartbeatInterval: 300 * time.Millisecond, HeartbeatTimeout: 3 * time.Second}
	p, err := openNodeWith(t, cfg).NewPublisher(bus.PublisherConfig{
		Tags: tags.Of(1), Common: common, Listening: bus.Listening{Listen: netip.MustParseAddrPort("0.0.0.0:0")},
	})
	if err != nil {
		t.Fatal(err)
	}
	readers := onBoth(t, least, names, func(i int) *reading {
		return startReading(t, cfg, common, []bus.PolicyKind{bus.Block, bus.DropOldest}[i%2])
	})
	var end atomic.Bool
	total := make(chan uint64)
	go func() { total <- publishNumbers(t, p, uint64(burst), &end) }()

	eventually(t, "messages by both devices", ofAll(readers, func(r *reading) bool { return r.received.Load() > 100 }))
	removed := time.Now()
	removeDevice(t, first)
	eventually(t, "all on the device that is left", ofAll(readers, func(r *reading) bool { return r.by() == names[1] }))
	moved := time.Since(removed)
	at := make(map[*reading]uint64)
	for _, r := range readers {
		at[r] = r.received.Load()
	}
	eventually(t, "messages by the device that is left", ofAll(readers, func(r *reading) bool { return r.received.Load() > at[r]+100 }))
	end.Store(true)
	published := <-total
	t.Logf("%d messages, %d subscribers, all on the other device %v after the removal", published, len(readers), moved.Round(time.Millisecond))
	most := 15 * time.Second
	if backend == "rdma:verbs" {
		most = 2 * time.Minute // on processors that are emulated
	}
	if moved > most {
		t.Errorf("the subscribers are on the other device after %v, want within %v", moved, most)
	}
	wantPeersBy(t, p, names[1], len(readers))
	if restoreDevice(t, first) {
		useRestored(t, first, names[0], func() *reading { return startReading(t, cfg, common, bus.Block) })
	}
	wantAllExplained(t, p, published, readers)
}

// publishNumbers publishes 1, 2, 3 and so on until it is to end, and rests behind each burst. It returns the last one.
func publishNumbers(t *testing.T, p *bus.Publisher, burst uint64, end *atomic.Bool) (n uint64) {
	for !end.Load() {
		if err := p.PublishContext(t.Context(), 1, binary.LittleEndian.AppendUint64(make([]byte, 0, 100), n+1)); err != nil {
			t.Errorf("publish: %v", err)
			return n
		}
		if n++; n%burst == 0 {
			<-time.After(time.Millisecond)
		}
	}
	return n
}

// ofAll returns whether something is true of all.
func ofAll(readers []*reading, is func(*reading) bool) func() bool {
	return func() bool { return !slices.ContainsFunc(readers, func(r *reading) bool { return !is(r) }) }
}

// wantPeersBy checks by which backend the publisher says that its subscribers are connected.
func wantPeersBy(t *testing.T, p *bus.Publisher, name string, count int) {
	t.Helper()
	peers := stateOf(t, p).Peers
	for _, peer := range peers {
		if peer.Backend != name {
			t.Errorf("the publisher has a connection by %s, want only by %s", peer.Backend, name)
		}
	}
	if len(peers) != count {
		t.Errorf("connections of the publisher: got %d, want %d", len(peers), count)
	}
}

// wantAllExplained ends the publisher, and checks that each message was received or named lost, by both sides alike.
func wantAllExplained(t *testing.T, p *bus.Publisher, published uint64, readers []*reading) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.Drain(ctx); err != nil {
		t.Errorf("Drain: %v", err)
	}
	theirs := make(map[string]uint64)
	for _, gone := range stateOf(t, p).Gone {
		theirs[gone.Instance] += state.Lost(gone.Losses)
	}
	for i, r := range readers {
		eventually(t, fmt.Sprintf("%d messages received or named lost by subscriber %d", published, i), func() bool {
			return r.received.Load()+r.s.Stats().Lost >= published
		})
		got, lost := r.received.Load(), r.s.Stats().Lost
		t.Logf("subscriber %d: %d received, %d named lost", i, got, lost)
		if got+lost != published || r.wrong.Load() != 0 || lost != theirs[r.s.Instance()] {
			t.Errorf("subscriber %d: of %d messages got %d and was told of %d lost, the publisher counts %d; %d twice or late", i, published, got, lost, theirs[r.s.Instance()], r.wrong.Load())
		}
	}
}

func stateOf(t *testing.T, p *bus.Publisher) state.State {
	t.Helper()
	st, err := p.State(t.Context(), state.Question{Peers: state.MaxPeers})
	if err != nil {
		t.Fatal(err)
	}
	return st
}
