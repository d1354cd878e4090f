// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/follow"
	"tagbus/bridge/internal/memlog"
	"tagbus/bridge/internal/spool"
	"tagbus/bridge/internal/spool/memdisk"
	"tagbus/bus"
	"tagbus/tags"
)

// TestWriter_givesWay: whatever looks at all chains lets Page have the lock in between, and takes a bounded part of them to the spool.
func TestWriter_givesWay(t *testing.T) {
	nothing := func() {}
	w := newWriter(Config{Log: memlog.New(1<<16, nil), MaxBytes: 1 << 30, MaxChains: 1 << 20, RecordBytes: 1 << 10, Pause: nothing, Resume: nothing, Ask: nothing})
	alice := &bus.Peer{Instance: "ALICE"}
	const n = 4 * maxStep
	all := make([]Standing, n)
	for i := range all {
		all[i] = Standing{Peer: alice, Tag: tags.Tag(i)}
	}
	w.Positions(w.Mark(), all)
	for name, pass := range map[string]func(){
		"beginSpooling": w.beginSpooling, "rejoin": w.rejoin, "endAway": func() { w.endAway(time.Now()) },
	} {
		w.mu.Lock()
		var entered atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.Page(time.Now(), nil)
			entered.Store(true)
		}()
		for end := time.Now().Add(10 * time.Second); !entered.Load() && time.Now().Before(end); {
			pass()
		}
		if !entered.Load() {
			t.Errorf("%s holds the lock from the first chain to the last", name)
		}
		w.mu.Unlock()
		<-done
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beginSpooling()
	taken := 0
	for len(w.laden) > 0 {
		some := w.collect()
		if len(some) == 0 || len(some) > 2*maxStep {
			t.Fatalf("got %d records at once, want 1 to %d", len(some), 2*maxStep)
		}
		taken += len(some)
	}
	if taken != n {
		t.Errorf("got %d records, want the Begin of each of %d chains", taken, n)
	}
}

// TestWriter_givesWay_closing: what waits in memory goes to the spool also if the end comes while the chains rejoin.
func TestWriter_givesWay_closing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nothing := func() {}
		kept, err := spool.Open(memdisk.New(), "memory", 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		w := newWriter(Config{
			Log: memlog.New(1<<16, nil), MaxBytes: 1 << 20, MaxChains: 1, RecordBytes: 1 << 10, Pause: nothing, Resume: nothing, Ask: nothing,
			Spool: kept, SpoolPatience: time.Minute,
		})
		w.spooling = true
		alice := &bus.Peer{Instance: "ALICE"}
		w.Positions(w.Mark(), []Standing{{Peer: alice, Tag: 1}})
		w.Page(time.Now(), []bus.Message{{Tag: 1, Counter: 1, Publisher: alice}})
		w.rejoining, w.laden = true, nil // it has given way
		w.disks.Go(w.spill)
		go w.closeSpool(true)
		synctest.Wait()
		w.mu.Lock()
		w.rejoin()
		w.mu.Unlock()
		synctest.Wait()
		if _, messages := kept.Size(); messages != 1 {
			t.Errorf("got %d messages in the spool, want 1", messages)
		}
	})
}

// TestWriter_names of publishers are bounded, and those of publishers that are forgotten do not count.
func TestWriter_names(t *testing.T) {
	w := newWriter(Config{Log: memlog.New(1<<16, nil), MaxChains: 10})
	w.names = follow.MaxNameBytes - len("ALICE")
	alice, err := w.chain(durable.Key{Tag: 1, Instance: "ALICE"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.chain(durable.Key{Tag: 2, Instance: "ALICE"}); err != nil {
		t.Errorf("got %v for a second tag, want nil", err)
	}
	w.forget(alice)
	var many *follow.TooManyError
	if _, err := w.chain(durable.Key{Tag: 1, Instance: "B"}); !errors.As(err, &many) || many.What != follow.NameBytes || len(w.sources) != 1 {
		t.Errorf("got %v, want too many bytes of names", err)
	}
	w.forget(w.sources["ALICE"].chains[2])
	if _, err := w.chain(durable.Key{Tag: 1, Instance: "B"}); err != nil {
		t.Errorf("got %v after a publisher is forgotten, want nil", err)
	}
}
