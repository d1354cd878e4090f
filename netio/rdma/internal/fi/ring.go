// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package fi

/*
#cgo noescape fix_turn
#cgo nocallback fix_turn
#include <stdlib.h>
#include "fi.h"
*/
import "C"

import "unsafe"

// MaxPieces is the most pieces of memory of one Op.
const MaxPieces = C.FIX_PIECES

// Kinds of Op.
const (
	Send uint16 = C.FIX_SEND
	Recv uint16 = C.FIX_RECV
)

// Flags of an Op.
const (
	Completion uint64 = C.FI_COMPLETION // report it, not only if it fails
	Inject     uint64 = C.FI_INJECT     // the memory may be used again when it was posted
)

// Piece is registered memory.
type Piece struct {
	Base uint64 // address, of memory that the garbage collector does not free meanwhile
	Len  uint64
	Desc uint64 // MR.Desc
}

// Op is a work request.
type Op struct {
	EP      uint64 // EP.Handle or SRX.Handle
	Addr    uint64 // of AV.Insert: where a send without connection goes; else anything
	Context uint64 // of the completion
	Flags   uint64
	Kind    uint16
	Count   uint16 // of Pieces
	rc      int32
	Pieces  [MaxPieces]Piece
}

// Err returns 0 if the last Turn has posted o, and otherwise why not: EAGAIN
// means that the same Op can be posted later.
func (o *Op) Err() Errno { return Errno(-o.rc) }

// Drain is a request to read from a completion queue, from CQ.Drain.
type Drain struct {
	fabric, cq uint64
	count      uint32
	state      int32
}

// Count returns how many completions the last Turn has read.
func (d *Drain) Count() int { return int(d.count) }

// Armed reports whether the queue was empty at the end. Its descriptor then becomes
// readable at the next completion.
func (d *Drain) Armed() bool { return d.state == C.FIX_ARMED }

// Err returns why the queue could not be read, or 0.
func (d *Drain) Err() Errno { return Errno(max(0, -d.state)) }

// Completed is a completion.
type Completed struct {
	Context uint64
	flags   uint64
	len     uint64
}

// Received reports whether it is that of a receive. For one that has failed, only the
// context shows that.
func (c *Completed) Received() bool { return c.flags&C.FI_RECV != 0 }

// Len returns the size of the message that was received.
func (c *Completed) Len() int { return int(c.len) }

// Err returns 0 if the request was carried out.
func (c *Completed) Err() Errno {
	if c.flags&C.FIX_FAILED == 0 {
		return 0
	}
	return Errno(uint32(c.len))
}

// The layouts on both sides are the same.
var (
	_ [unsafe.Sizeof(Op{})]byte        = [C.sizeof_struct_fix_op]byte{}
	_ [unsafe.Sizeof(Drain{})]byte     = [C.sizeof_struct_fix_drain]byte{}
	_ [unsafe.Sizeof(Completed{})]byte = [C.sizeof_struct_fi_cq_msg_entry]byte{}
)

// Ring is what crosses to C and back. Its slices lie in memory of C and are
// valid until Free.
type Ring struct {
	Ops       []Op
	Drains    []Drain
	Completed []Completed
}

// NewRing returns a ring with room for so many of each, at least one.
func NewRing(ops, drains, completed int) *Ring {
	return &Ring{alloc[Op](ops), alloc[Drain](drains), alloc[Completed](completed)}
}

func alloc[T any](n int) []T {
	var zero T
	// Like Go's own, calloc of C ends the process when there is no memory.
	return unsafe.Slice((*T)(C.calloc(C.size_t(n), C.size_t(unsafe.Sizeof(zero)))), n)
}

// Free releases the memory.
func (r *Ring) Free() {
	C.free(unsafe.Pointer(unsafe.SliceData(r.Ops)))
	C.free(unsafe.Pointer(unsafe.SliceData(r.Drains)))
	C.free(unsafe.Pointer(unsafe.SliceData(r.Completed)))
	*r = Ring{}
}

// Turn posts the first ops, then reads from the queues of the first drains, at
// most each completions of one. It returns how many stand in Completed: those of
// a queue behind those of the queue before. When an Op is refused, so are those
// of the same endpoint, Addr and kind that stand behind it without one of another
// endpoint in between.
//
// Implements:
//
//	ssize_t fi_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
//	ssize_t fi_recvmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
//	ssize_t fi_cq_read(struct fid_cq *cq, void *buf, size_t count)
//	ssize_t fi_cq_readerr(struct fid_cq *cq, struct fi_cq_err_entry *buf, uint64_t flags)
//	int fi_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
func (r *Ring) Turn(ops, drains, each int) int {
	return int(C.fix_turn(
		(*C.struct_fix_op)(unsafe.Pointer(unsafe.SliceData(r.Ops))), C.uint32_t(ops),
		(*C.struct_fix_drain)(unsafe.Pointer(unsafe.SliceData(r.Drains))), C.uint32_t(drains),
		(*C.struct_fi_cq_msg_entry)(unsafe.Pointer(unsafe.SliceData(r.Completed))), C.uint32_t(len(r.Completed)),
		C.uint32_t(each),
	))
}
