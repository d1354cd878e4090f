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

// holder keeps the memory of a batch that C has.
type holder struct {
	batch  bus.Batch
	reply  bus.Message // of a request, instead
	pinner runtime.Pinner
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
	x.pinner.Unpin()
	x.batch, x.reply = bus.Batch{}, bus.Message{}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.free = append(h.free, uint32(token-1))
}

// newBox returns a box for messages, and what keeps their memory.
func newBox(messages int, ids bool, from *bus.Peer) (*C.tagbus_box, *holder) {
	withIDs := C.int(0)
	if ids {
		withIDs = 1
	}
	b := C.hook_box_new(C.size_t(messages), withIDs)
	h, token := held.take()
	b.token = C.uint64_t(token)
	n := copy(unsafe.Slice((*byte)(unsafe.Pointer(&b.publisher[0])), len(b.publisher)-1), from.Instance)
	b.publisher[n] = 0
	return b, h
}

// box makes a box of a batch, and takes it over.
//
//   - kept: it counts as retained already.
func box(batch bus.Batch, kept bool) *C.tagbus_box {
	b, h := newBox(batch.Len(), batch.HasRequests(), batch.Publisher())
	h.batch = batch
	if kept {
		b.kept = 1
	}
	fill(b, h)
	return b
}

// rowsOf returns the messages of a box.
func rowsOf(b *C.tagbus_box) []bus.Row {
	return unsafe.Slice((*bus.Row)(unsafe.Pointer(b.messages)), b.batch.count)
}

// A Row is a tagbus_message: this does not compile otherwise.
var _ = [1]struct{}{}[unsafe.Sizeof(bus.Row{})-C.sizeof_tagbus_message]

// fill fills in the messages of a box, and pins their memory, which is in one piece.
func fill(b *C.tagbus_box, h *holder) {
	rows := rowsOf(b)
	h.batch.Rows(rows)
	if b.ids != nil {
		ids := unsafe.Slice((*[16]byte)(unsafe.Pointer(b.ids)), len(rows))
		for i, m := range h.batch.AppendTo(nil) {
			ids[i] = m.RequestID().Bytes()
		}
	}
	span(b, h, rows)
}

// span says where the messages of a box lie.
func span(b *C.tagbus_box, h *holder, rows []bus.Row) {
	var first, end uintptr
	for i := range rows {
		if rows[i].Size > 0 {
			first = rows[i].Data
			h.pinner.Pin(*(**byte)(unsafe.Pointer(&first)))
			break
		}
	}
	for i := len(rows) - 1; i >= 0 && end == 0; i-- {
		if rows[i].Size > 0 {
			end = rows[i].Data + uintptr(rows[i].Size)
		}
	}
	*(*uintptr)(unsafe.Pointer(&b.batch.page)) = first
	b.batch.page_bytes = C.size_t(end - first)
}

// keep counts the batch of a box as retained.
func keep(b *C.tagbus_box) error {
	h := held.of(uint64(b.token))
	if err := h.batch.Retain(); err != nil {
		return err
	}
	h.pinner.Unpin()
	fill(b, h) // the data may have moved
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
	return uintptr(unsafe.Pointer(C.hook_bell()))
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
func (program) Batch(fn, user uintptr, at objects.Place, batch bus.Batch) {
	b := box(batch, false)
	C.hook_batch(C.uintptr_t(fn), C.uintptr_t(user), C.tagbus_handle(at.Owner), C.tagbus_handle(at.Bus), b)
	C.hook_box_release(b)
}

// Event implements objects.Program.
func (program) Event(fn, user uintptr, at objects.Place, e bus.Event) {
	event := newEvent(e)
	C.hook_event(C.uintptr_t(fn), C.uintptr_t(user), C.tagbus_handle(at.Owner), C.tagbus_handle(at.Bus), event)
	C.hook_free(unsafe.Pointer(event))
}

// End implements objects.Program.
func (program) End(fn, user uintptr, at objects.Place, code objects.Code, text string) {
	s := C.hook_memory(C.size_t(len(text) + 1))
	copy(unsafe.Slice((*byte)(s), len(text)), text)
	C.hook_end(C.uintptr_t(fn), C.uintptr_t(user), C.tagbus_handle(at.Owner), C.tagbus_handle(at.Bus), C.int(code), (*C.char)(s))
	C.hook_free(s)
}

// Done implements objects.Program.
func (program) Done(fn, user uintptr, at objects.Place) {
	C.hook_done(C.uintptr_t(fn), C.uintptr_t(user), C.tagbus_handle(at.Owner), C.tagbus_handle(at.Bus))
}
