// SPDX-License-Identifier: Apache-2.0

package core

/*
#include "hooks.h"
*/
import "C"

import (
	"unsafe"

	"tagbus/bus"
	"tagbus/cmd/libtagbus/objects"
)

// newEvent makes an event in one piece of memory of C.
func newEvent(e bus.Event) *C.tagbus_event {
	said := objects.Describe(e)
	texts := [...]string{said.Name, said.Text, said.Cause, said.Peer, said.PeerName, said.PeerAddress, said.Tags}
	size := int(C.sizeof_tagbus_event)
	for _, t := range texts {
		size += len(t) + 1
	}
	memory := C.hook_memory(C.size_t(size))
	c := (*C.tagbus_event)(memory)
	at := uintptr(C.sizeof_tagbus_event)
	places := [...]**C.char{&c.name, &c.text, &c.cause, &c.peer, &c.peer_name, &c.peer_address, &c.tags}
	for i, t := range texts {
		to := unsafe.Add(memory, at)
		copy(unsafe.Slice((*byte)(to), len(t)), t)
		*places[i] = (*C.char)(to)
		at += uintptr(len(t)) + 1
	}
	c.struct_bytes = C.uint32_t(C.sizeof_tagbus_event)
	c.kind, c.code = C.int(e.Kind), C.int(said.Code)
	c.tag, c.count = C.uint64_t(e.Tag), C.uint64_t(e.Count)
	return c
}
