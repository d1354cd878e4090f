// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"unsafe"

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

// data returns the payload of a row, where it is.
func (r *Row) data() []byte {
	at := r.Data
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), r.Size)
}
