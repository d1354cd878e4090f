// SPDX-License-Identifier: Apache-2.0

package in

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bus"
)

// slowFile is a file whose system takes a while for each place.
type slowFile struct {
	mu     sync.Mutex
	takes  time.Duration
	stores int
	has    durable.Position
}

func (f *slowFile) store(p place) error {
	time.Sleep(f.takes)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stores++
	f.has = p.Behind[""]
	return nil
}

func (f *slowFile) close() {}

// sender is a publisher with one subscriber, to which it has sent some bytes, and has others queued.
type sender struct {
	mu           sync.Mutex
	bytes, queue uint64
}

func (s *sender) set(bytes, queue uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes, s.queue = bytes, queue
}

func (s *sender) Stats() bus.PublisherStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bus.PublisherStats{Subscribers: []bus.SubscriberState{{Bytes: s.bytes, Queued: int(s.queue)}}}
}

// An internal test: only here does a file system take as long as it is to.
func TestKeep_whatIsPublishedDuringAStoreIsNotStoredBeforeItIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file, p := &slowFile{takes: 3 * time.Second}, new(sender)
		k := &keeper{file: file, now: place{Behind: make(map[string]durable.Position)}, publisher: p, end: make(chan bool, 1), done: make(chan error, 1)}
		go func() { k.done <- k.run(k.at()) }()
		wait := func(want durable.Position) {
			t.Helper()
			time.Sleep(time.Minute)
			file.mu.Lock()
			defer file.mu.Unlock()
			if file.has != want {
				t.Errorf("got the position %d after %d stores, want %d", file.has, file.stores, want)
			}
		}
		synctest.Wait()
		k.passed("", 1)
		p.set(100, 0)
		time.Sleep(4*time.Second + time.Second/2) // it is stored now
		p.set(100, 50)
		k.passed("", 2)
		wait(1)        // the subscriber takes nothing
		p.set(150, 50) // and the next
		k.passed("", 3)
		wait(2)
		p.set(200, 0)
		wait(3)
		if err := k.close(true); err != nil {
			t.Error(err)
		}
	})
}
