// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package node_test

import (
	"context"
	"encoding/binary"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/node"
	"tagbus/tags"
)

// reading is a subscriber that counts what it gets, and by which device.
type reading struct {
	s        *bus.Subscriber
	received atomic.Uint64
	wrong    atomic.Uint64 // not behind the one before
	device   atomic.Value  // the name of the backend of the last connection
	last     atomic.Uint64 // message, from 1
}

// startReading subscribes on a node of its own.
func startReading(t *testing.T, cfg node.Config, common bus.Common, policy bus.PolicyKind) *reading {
	t.Helper()
	r := &reading{}
	common.OnEvent = func(e bus.Event) {
		if e.Kind == bus.Connected {
			r.device.Store(e.Peer.Backend)
		}
	}
	var err error
	if r.s, err = openNodeWith(t, cfg).NewSubscriber(bus.SubscriberConfig{Common: common, Dialing: bus.Dialing{Unlisted: true}}); err != nil {
		t.Fatal(err)
	}
	sub, err := r.s.SubscribeWith(tags.Of(1), func(m bus.Message) {
		at := binary.LittleEndian.Uint64(m.Data)
		if at <= r.last.Load() {
			r.wrong.Add(1)
		}
		r.last.Store(at)
		r.received.Add(1)
	}, bus.SubscriptionConfig{Policy: bus.Policy{Kind: policy}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := sub.Wait(ctx); err != nil {
		t.Fatalf("subscribe: %v", err)
	}
	return r
}

// by returns the name of the backend by which it is connected, or was.
func (r *reading) by() string {
	name, _ := r.device.Load().(string)
	return name
}

// eventually waits until ok is true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	patience := time.Minute
	if testing.Short() { // on processors that are emulated
		patience *= 3
	}
	for limit := time.Now().Add(patience); !ok(); <-time.After(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%s: not within %v", what, patience)
		}
	}
}

// onBoth starts readers until each of two backends has some.
func onBoth(t *testing.T, least int, names [2]string, start func(i int) *reading) (all []*reading) {
	t.Helper()
	count := make(map[string]int)
	for i := 0; i < least || count[names[0]] == 0 || count[names[1]] == 0; i++ {
		if i == 24 { // half of them each, at random
			t.Fatalf("of %d subscribers: got %v, want some by each of %v", i, count, names)
		}
		r := start(i)
		eventually(t, "the transport of a subscriber", func() bool { return r.by() != "" })
		count[r.by()]++
		all = append(all, r)
	}
	if count[names[0]]+count[names[1]] != len(all) {
		t.Errorf("transports: got %v, want only %v", count, names)
	}
	return all
}
