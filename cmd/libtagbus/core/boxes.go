// SPDX-License-Identifier: Apache-2.0

package core

/*
#cgo CFLAGS: -I${SRCDIR}/../../../bindings/c
#include "hooks.h"
*/
import "C"

import (
	"runtime"
	"sync"
	"unsafe"

	"tagbus/bus"
	"tagbus/cmd/libtagbus/objects"
)

// row is a tagbus_message. data is no pointer to Go: it has memory of the transport, or pinned one.
type row struct {
	tag      uint64
	counter  uint64
	data     uintptr
	size     uint32
	status   uint8
	flags    uint8
	reserved [2]uint8
}

// holder keeps the memory of a batch that C has.
type holder struct {
	batch   bus.Batch     // of one that was taken
	current []bus.Message // of one that is being delivered on the loop
	kept    bus.Kept      // of one that was
	isKept  bool
	pinner  runtime.Pinner
}

// holders has those that are in use, by their tokens.
type holders struct {
	mu   sync.Mutex
	all  []*holder
	free []uint32
}

var held holders

// take returns a holder and its token, which is not 0.
func (h *holders) take() (*holder, uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if last := len(h.free) - 1; last >= 0 {
		i := h.free[last]
		h.free = h.free[:last]
		return h.all[i], uint64(i) + 1
	}
	x := new(holder)
	h.all = append(h.all, x)
	return x, uint64(len(h.all))
}

// of returns the holder of a token.
func (h *holders) of(token uint64) *holder {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all[token-1]
}

// give gives a holder back, with the memory that it has kept.
func (h *holders) give(token uint64) {
	x := h.of(token)
	x.batch.Release()
	if x.isKept {
		x.kept.Release()
	}
	x.pinner.Unpin()
	x.batch, x.current, x.kept, x.isKept = bus.Batch{}, nil, bus.Kept{}, false
	h.mu.Lock()
	defer h.mu.Unlock()
	h.free = append(h.free, uint32(token-1))
}

// buffers has memory for the messages of a batch, on their way to C.
var buffers = sync.Pool{New: func() any { return new([]bus.Message) }}

// box makes a box of a batch that was taken, and takes it over.
//
//   - kept: it counts as retained already.
func box(b bus.Batch, kept bool) *C.tagbus_box {
	buffer := buffers.Get().(*[]bus.Message)
	messages := b.AppendTo((*buffer)[:0])
	x, h := boxOf(messages)
	h.batch = b
	if kept {
		x.kept = 1
	}
	clear(messages)
	*buffer = messages[:0]
	buffers.Put(buffer)
	return x
}

// boxOf makes a box of messages, at least one.
func boxOf(messages []bus.Message) (*C.tagbus_box, *holder) {
	ids := C.int(0)
	for i := range messages {
		if messages[i].RequestID() != (bus.RequestID{}) {
			ids = 1
			break
		}
	}
	b := C.hook_box_new(C.size_t(len(messages)), ids)
	h, token := held.take()
	b.token = C.uint64_t(token)
	point(b, h, messages)
	n := copy(unsafe.Slice((*byte)(unsafe.Pointer(&b.publisher[0])), len(b.publisher)-1), messages[0].Publisher.Instance)
	b.publisher[n] = 0
	return b, h
}

// point fills in the messages of a box, and pins their memory.
func point(b *C.tagbus_box, h *holder, messages []bus.Message) {
	rows := unsafe.Slice((*row)(unsafe.Pointer(b.messages)), len(messages))
	var first, end uintptr
	for i := range messages {
		m, to := &messages[i], &rows[i]
		data := uintptr(unsafe.Pointer(unsafe.SliceData(m.Data)))
		to.tag, to.counter, to.data, to.size = uint64(m.Tag), m.Counter, data, uint32(len(m.Data))
		to.status, to.flags, to.reserved = uint8(m.Status), 0, [2]uint8{}
		if len(m.Data) == 0 {
			continue
		}
		if first == 0 {
			first = data
			h.pinner.Pin(unsafe.SliceData(m.Data)) // all are in one piece of memory
		}
		end = data + uintptr(len(m.Data))
	}
	if b.ids != nil {
		for i := range messages {
			id := messages[i].RequestID().Bytes()
			if id != ([16]byte{}) {
				rows[i].flags = C.TAGBUS_REQUEST
			}
			copy(unsafe.Slice((*byte)(unsafe.Pointer(&unsafe.Slice(b.ids, len(messages))[i])), 16), id[:])
		}
	}
	*(*uintptr)(unsafe.Pointer(&b.batch.page)) = first
	b.batch.page_bytes = C.size_t(end - first)
}

// keep counts the batch of a box as retained.
func keep(b *C.tagbus_box) error {
	h := held.of(uint64(b.token))
	if h.current == nil {
		return h.batch.Retain()
	}
	kept, err := bus.RetainBatch(h.current)
	if err != nil {
		return err
	}
	h.kept, h.isKept = kept, true
	h.pinner.Unpin()
	point(b, h, h.current) // the data may have moved
	return nil
}

// program implements objects.Program.
type program struct{}

var bells struct {
	mu   sync.Mutex
	free []uintptr
}

// NewBell implements objects.Program.
func (program) NewBell() uintptr {
	bells.mu.Lock()
	defer bells.mu.Unlock()
	if len(bells.free) > 64 { // the one that is free for longest
		b := bells.free[0]
		bells.free = bells.free[1:]
		return b
	}
	return uintptr(C.calloc(1, C.sizeof_tagbus_bell))
}

// FreeBell implements objects.Program. The memory is never handed back.
func (program) FreeBell(bell uintptr) {
	bells.mu.Lock()
	defer bells.mu.Unlock()
	bells.free = append(bells.free, bell)
}

// Ring implements objects.Program.
func (program) Ring(bell uintptr) { ring(bell) }

// Batch implements objects.Program.
func (program) Batch(fn, user uintptr, at objects.Place, messages []bus.Message) {
	b, h := boxOf(messages)
	h.current = messages
	C.hook_batch(C.uintptr_t(fn), C.uintptr_t(user), C.tagbus_handle(at.Owner), C.tagbus_handle(at.Bus), b)
	h.current = nil
	C.hook_box_release(b)
}

// Event implements objects.Program.
func (program) Event(fn, user uintptr, at objects.Place, e bus.Event) {
	event := newEvent(e)
	C.hook_event(C.uintptr_t(fn), C.uintptr_t(user), C.tagbus_handle(at.Owner), C.tagbus_handle(at.Bus), event)
	C.free(unsafe.Pointer(event))
}

// End implements objects.Program.
func (program) End(fn, user uintptr, at objects.Place, code objects.Code, text string) {
	s := C.CString(text)
	C.hook_end(C.uintptr_t(fn), C.uintptr_t(user), C.tagbus_handle(at.Owner), C.tagbus_handle(at.Bus), C.int(code), s)
	C.free(unsafe.Pointer(s))
}

// Done implements objects.Program.
func (program) Done(fn, user uintptr) { C.hook_done(C.uintptr_t(fn), C.uintptr_t(user)) }
