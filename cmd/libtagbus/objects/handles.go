// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"sync"
	"sync/atomic"
)

// Kind is what a handle stands for.
type Kind uint8

// The kinds.
const (
	KindBus Kind = iota + 1
	KindPublisher
	KindSubscriber
	KindSubscription
	KindSender
	KindReceiver
	KindRequester
	kindBatch
)

var kindNames = [...]string{
	KindBus: "bus", KindPublisher: "publisher", KindSubscriber: "subscriber", KindSubscription: "subscription",
	KindSender: "sender", KindReceiver: "receiver", KindRequester: "requester", kindBatch: "batch",
}

// String returns the kind's name.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "unknown"
}

// Handle is what a program has instead of a pointer: the place of an object in a table, which
// object of that place, and its kind. No memory has such an address.
type Handle uint64

// The fields of a handle, from its lowest bit on.
const (
	placeBits      = 24
	generationBits = 27
	kindBits       = 4
	mark           = 0x1a5 << (placeBits + generationBits + kindBits) // 9 bits: no address of a program
)

func (h Handle) place() int { return int(h & (1<<placeBits - 1)) }
func (h Handle) kind() Kind { return Kind(h>>(placeBits+generationBits)) & (1<<kindBits - 1) }

func handle(place int, generation uint32, k Kind) Handle {
	return mark | Handle(k)<<(placeBits+generationBits) | Handle(generation)<<placeBits | Handle(place)
}

// Table has the objects of a process. Looking one up takes no lock. The zero value is empty.
//
// Threads: any.
type Table struct {
	chunks [1 << (placeBits - chunkBits)]atomic.Pointer[chunk]

	mu   sync.Mutex
	used int   // places
	free []int // places, the one that is free for longest first
}

const chunkBits = 10

type chunk [1 << chunkBits]slot

type slot struct {
	held       atomic.Pointer[held]
	generation uint32 // of the last object; guarded by Table.mu
}

// held is an object at its place.
type held struct {
	handle Handle
	object any
}

// leastFree is how many places are free before one is used again: so that a handle which was closed
// is found to be closed for long.
const leastFree = 1024

// Put adds an object. It returns 0 if the table is full.
func (t *Table) Put(k Kind, object any) Handle {
	t.mu.Lock()
	defer t.mu.Unlock()
	var place int
	switch {
	case len(t.free) > leastFree || t.used == 1<<placeBits && len(t.free) > 0:
		place = t.free[0]
		t.free = t.free[1:]
	case t.used < 1<<placeBits:
		place = t.used
		t.used++
	default:
		return 0
	}
	at := &t.chunks[place>>chunkBits]
	if at.Load() == nil {
		at.Store(new(chunk))
	}
	s := &at.Load()[place&(1<<chunkBits-1)]
	s.generation = (s.generation + 1) & (1<<generationBits - 1)
	h := handle(place, s.generation, k)
	s.held.Store(&held{h, object})
	return h
}

// slot returns the place of a handle, or nil.
func (t *Table) slot(h Handle) *slot {
	if h&(0x1ff<<(placeBits+generationBits+kindBits)) != mark {
		return nil
	}
	c := t.chunks[h.place()>>chunkBits].Load()
	if c == nil {
		return nil
	}
	return &c[h.place()&(1<<chunkBits-1)]
}

// Get returns the object of a handle.
//
//   - argument: what the caller calls it.
//   - Errors: *Error with Invalid or Closed.
func Get[T any](t *Table, h Handle, k Kind, argument string) (object T, err error) {
	s := t.slot(h)
	if s != nil {
		if x := s.held.Load(); x != nil && x.handle == h {
			if object, ok := x.object.(T); ok && (k == 0 || h.kind() == k) {
				return object, nil
			}
		}
	}
	return object, wrong(t, h, k, argument)
}

// wrong says what is wrong with a handle.
func wrong(t *Table, h Handle, k Kind, argument string) error {
	want := "a handle"
	if k != 0 {
		want = "a " + k.String()
	}
	switch {
	case h == 0:
		return invalid("%s is NULL, want %s", argument, want)
	case t.slot(h) == nil || h.kind() == 0 || h.kind() > kindBatch:
		return invalid("%s is no handle of this library, want %s", argument, want)
	case k != 0 && h.kind() != k:
		return invalid("%s is a %v, want %s", argument, h.kind(), want)
	case t.slot(h).held.Load() != nil && t.slot(h).held.Load().handle == h:
		return invalid("%s is a %v, which this function does not take", argument, h.kind())
	}
	return &Error{Closed, argument + " is closed"}
}

// Take removes an object, and returns it to the one that closes it.
//
// Errors: as Get.
func Take[T any](t *Table, h Handle, k Kind, argument string) (object T, err error) {
	object, err = Get[T](t, h, k, argument)
	if err == nil && !t.Remove(h) {
		return object, &Error{Closed, argument + " is closed"}
	}
	return object, err
}

// Remove removes an object. It returns false if it was removed before.
func (t *Table) Remove(h Handle) bool {
	s := t.slot(h)
	if s == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	x := s.held.Load()
	if x == nil || x.handle != h {
		return false
	}
	s.held.Store(nil)
	t.free = append(t.free, h.place())
	return true
}
