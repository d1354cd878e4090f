// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"math"
	"unsafe"

	"tagbus/bus/internal/pull"
	"tagbus/bus/internal/wire"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// Row is a message as a program in C has it: with the address of its data.
type Row struct {
	Tag     tags.Tag
	Counter uint64
	Data    uintptr // of Size bytes, as long as the Data of the Message is valid
	Size    uint32
	Status  Status
	Request bool // it has a RequestID
	_       [2]byte
}

// RowError says which of the rows of PublishRows has bytes where none can be: at address 0, or
// with an end beyond the memory that an address can name.
type RowError struct {
	Row  int // its index: that many rows of the batch are published
	Tag  tags.Tag
	Data uintptr
	Size uint32
}

// Error names the row, the tag, what is wrong and what to change.
func (e *RowError) Error() string {
	return sanitize.Linef("bus: publish %v: row %d of the batch has %d bytes at %#x, where no data can be: set its Data to the address of the payload, or its Size to 0", e.Tag, e.Row, e.Size, e.Data)
}

// usable reports whether the data of a row can be in memory.
func (r *Row) usable() bool {
	return r.Size == 0 || r.Data != 0 && uint64(r.Size) <= math.MaxInt && uintptr(r.Size) <= -r.Data
}

// data returns the payload of a row that is usable, where it is. An address without bytes may be any
// number: it becomes no pointer, which the garbage collector would object to.
func (r *Row) data() []byte {
	if r.Size == 0 {
		return nil
	}
	at := r.Data
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), r.Size)
}

// Rows sets the first Len of rows to the messages of the batch.
func (b Batch) Rows(rows []Row) {
	p := pulledBatch(b)
	if p == nil {
		return
	}
	n, parts := 0, p.Parts()
	for i := range parts {
		x := &parts[i]
		if x.Run {
			plainRows(rows[n:n+x.Messages], x)
		} else {
			rows[n] = Row{
				Tag: x.Tag, Counter: x.Counter, Data: address(x.Data), Size: uint32(len(x.Data)), Status: Status(x.Status), Request: x.ID != (wire.ID{}),
			}
		}
		n += x.Messages
	}
}

// plainRows sets rows to the messages of a run.
func plainRows(rows []Row, run *pull.Part) {
	at := 0
	for i := range rows {
		data, next, _ := wire.Cut(run.Data, at)
		at = next
		to := &rows[i]
		to.Tag, to.Counter, to.Data, to.Size, to.Status, to.Request = run.Tag, run.Counter+uint64(i), address(data), uint32(len(data)), 0, false
	}
}

// address returns where data is.
func address(data []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(data))) }
