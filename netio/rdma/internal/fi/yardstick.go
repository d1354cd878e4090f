// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package fi

/*
#include "fi.h"
*/
import "C"

import (
	"time"
	"unsafe"
)

// What measurements compare with. A file of tests cannot use cgo.

// OpenIdleEP returns an endpoint whose sends do nothing, so that posting to it
// costs what crossing to C costs. It is not to be closed.
func OpenIdleEP() *EP { return &EP{C.fix_idle_ep()} }

// SendLoop sends count messages of size bytes over e, up to window at a time,
// from the front of mem, which r has registered, by a loop in C that does
// nothing else, and returns how long that took. e is bound to q and connected,
// and no other goroutine uses them. mem holds window messages. It blocks.
func SendLoop(e *EP, q *CQ, mem []byte, r *MR, size, count, window int) (time.Duration, error) {
	seconds := C.fix_send_loop(q.fabric.p, e.p, q.p, C.int(q.fd), unsafe.Pointer(unsafe.SliceData(mem)),
		C.uint64_t(r.desc), C.size_t(size), C.long(count), C.int(window))
	if seconds < 0 {
		return 0, check("fi_send", C.int(seconds))
	}
	return time.Duration(float64(seconds) * float64(time.Second)), nil
}
