// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"math"
	"unsafe"

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
