// SPDX-License-Identifier: Apache-2.0

package core

/*
#include <string.h>
#include "hooks.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"unsafe"

	"tagbus/bus"
	"tagbus/cmd/libtagbus/objects"
	"tagbus/tags"
)

// lib is what this process has opened.
var lib = objects.Library{Program: program{}}

// fail says why a function fails, and returns the code.
func fail(f *C.tagbus_failure, err error) C.int {
	if err == nil {
		return C.int(objects.OK)
	}
	code := objects.CodeOf(err)
	tell(f, code, objects.TextOf(err))
	return C.int(code)
}

// tell writes a failure.
func tell(f *C.tagbus_failure, code objects.Code, text string) {
	f.code = C.int(code)
	room := unsafe.Slice((*byte)(unsafe.Pointer(&f.text[0])), len(f.text))
	n := copy(room[:len(room)-1], text)
	for n > 0 && n < len(text) && text[n]&0xc0 == 0x80 { // not within a letter
		n--
	}
	room[n] = 0
}

// panicked makes a failure of a panic: none goes through the stack of C. It is deferred.
func panicked(f *C.tagbus_failure, result *C.int) {
	if v := recover(); v != nil {
		tell(f, objects.Internal, fmt.Sprintf("a fault of the library, please report it: panic: %v: %s", v, debug.Stack()))
		*result = C.int(objects.Internal)
	}
}

// survive is what functions that cannot fail defer: a panic becomes a line on standard error, and a
// result of 0.
func survive() {
	if v := recover(); v != nil {
		fmt.Fprintf(os.Stderr, "libtagbus: a fault of the library, please report it: panic: %v: %s\n", v, debug.Stack())
	}
}

// opened is what functions that return a handle return, and panicked for them.
func opened(f *C.tagbus_failure, h objects.Handle, err error) C.tagbus_handle {
	if fail(f, err) != 0 {
		return 0
	}
	return C.tagbus_handle(h)
}

func panickedOpening(f *C.tagbus_failure, h *C.tagbus_handle) {
	if v := recover(); v != nil {
		tell(f, objects.Internal, fmt.Sprintf("a fault of the library, please report it: panic: %v: %s", v, debug.Stack()))
		*h = 0
	}
}

// text returns a text that may be NULL.
func text(s *C.char) string {
	if s == nil {
		return ""
	}
	return C.GoStringN(s, C.int(C.strnlen(s, objects.MaxText+1))) // it is not read beyond what is refused
}

// optional returns a text, nil for NULL.
func optional(s *C.char) *string {
	if s == nil {
		return nil
	}
	t := text(s)
	return &t
}

// needed says which text is missing.
func needed(s *C.char, function, argument string) error {
	if s != nil {
		return nil
	}
	return &objects.Error{Code: objects.Invalid, Text: function + ": " + argument + " is NULL, want a text"}
}

// payload returns the bytes of a message.
func payload(function string, data unsafe.Pointer, size C.size_t) ([]byte, error) {
	switch {
	case size == 0:
		return nil, nil
	case data == nil:
		return nil, withoutData(function, 0, uint64(size))
	case uint64(size) > math.MaxInt32:
		return nil, &objects.Error{Code: objects.TooLarge, Text: fmt.Sprintf("%s: size is %d, larger than any --max-message-bytes", function, uint64(size))}
	case uintptr(size) > -uintptr(data):
		return nil, withoutData(function, uintptr(data), uint64(size))
	}
	return unsafe.Slice((*byte)(data), size), nil
}

// withoutData says that no payload can be where a program says.
func withoutData(function string, data uintptr, size uint64) error {
	if data == 0 {
		return &objects.Error{Code: objects.Invalid, Text: fmt.Sprintf("%s: data is NULL, and size is %d", function, size)}
	}
	return &objects.Error{Code: objects.Invalid, Text: fmt.Sprintf("%s: data is %#x, and size is %d, which ends beyond all memory", function, data, size)}
}

// message returns a message to be published.
func message(function string, tag C.uint64_t, status C.uint8_t, data unsafe.Pointer, size C.size_t) (bus.Message, error) {
	bytes, err := payload(function, data, size)
	return bus.Message{Tag: tags.Tag(tag), Status: bus.Status(status), Data: bytes}, err
}

var versionText = C.CString(objects.Version())

//export coreVersion
func coreVersion() *C.char { return versionText } // nothing can fail

//export coreNeedsEtcd
func coreNeedsEtcd(at *C.char) C.int {
	defer survive()
	if objects.NeedsEtcd(text(at)) && !objects.HasEtcd() {
		return 1
	}
	return 0
}

//export coreOpen
func coreOpen(at, options *C.char, f *C.tagbus_failure) (h C.tagbus_handle) {
	defer panickedOpening(f, &h)
	if err := needed(at, "tagbus_open", "bus"); err != nil {
		return opened(f, 0, err)
	}
	b, err := lib.OpenBus(text(at), text(options))
	return opened(f, b, err)
}

//export coreClose
func coreClose(h C.tagbus_handle, kind C.int, f *C.tagbus_failure) (code C.int) {
	defer panicked(f, &code)
	switch k := objects.Kind(kind); k {
	case objects.KindBus:
		return fail(f, lib.CloseBus(objects.Handle(h)))
	case objects.KindRequester:
		return fail(f, lib.CloseRequester(objects.Handle(h)))
	default:
		return fail(f, lib.Close(objects.Handle(h), k, k.String()))
	}
}

//export coreAlive
func coreAlive(h C.tagbus_handle, ms C.int64_t, f *C.tagbus_failure) (code C.int) {
	defer panicked(f, &code)
	return fail(f, lib.Alive(objects.Handle(h), int64(ms)))
}

//export coreBell
func coreBell(h C.tagbus_handle) *C.tagbus_bell {
	defer survive()
	bell := lib.Bell(objects.Handle(h))
	return *(**C.tagbus_bell)(unsafe.Pointer(&bell))
}

//export coreBusOf
func coreBusOf(h C.tagbus_handle) C.tagbus_handle {
	defer survive()
	return C.tagbus_handle(lib.BusOf(objects.Handle(h)))
}

//export coreOwnerOf
func coreOwnerOf(h C.tagbus_handle) C.tagbus_handle {
	defer survive()
	return C.tagbus_handle(lib.OwnerOf(objects.Handle(h)))
}

//export coreWork
func coreWork(h C.tagbus_handle, items *C.tagbus_work, n C.int) (did C.int) {
	var failure C.tagbus_failure
	defer panicked(&failure, &did)
	var work [16]objects.Work
	got := lib.Work(objects.Handle(h), work[:min(int(n), len(work))])
	out := unsafe.Slice(items, n)
	for i := range work[:got] {
		w, to := &work[i], &out[i]
		*to = C.tagbus_work{kind: C.int(w.Kind), code: C.int(w.Code), fn: C.uintptr_t(w.Fn), user: C.uintptr_t(w.User)}
		switch w.Kind {
		case objects.WorkEvent:
			to.event = newEvent(w.Event)
		case objects.WorkBatch:
			to.box = box(w.Batch, false)
		case objects.WorkEnd:
			to.text = C.CString(w.Text)
		default: // it has no more
		}
	}
	return C.int(got)
}

//export coreFence
func coreFence(h C.tagbus_handle, user C.uintptr_t) C.int {
	defer survive()
	if lib.Fence(objects.Handle(h), uintptr(user)) {
		return 1
	}
	return 0
}

//export coreBoxKeep
func coreBoxKeep(b *C.tagbus_box, f *C.tagbus_failure) (code C.int) {
	defer panicked(f, &code)
	return fail(f, keep(b))
}

//export coreBoxFree
func coreBoxFree(token C.uint64_t) {
	defer survive()
	held.give(uint64(token))
}

// panics is the hook of tests.
//
//export coreTestPanic
func coreTestPanic(f *C.tagbus_failure) (code C.int) {
	defer panicked(f, &code)
	panic(errors.New("made by a test"))
}
