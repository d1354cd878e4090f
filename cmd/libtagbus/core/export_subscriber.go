// SPDX-License-Identifier: Apache-2.0

package core

/*
#include "hooks.h"
*/
import "C"

import (
	"errors"
	"unsafe"

	"tagbus/bus"
	"tagbus/cmd/libtagbus/objects"
)

func callbacks(event C.tagbus_event_fn, batch C.tagbus_batch_fn, end C.tagbus_end_fn, user unsafe.Pointer) objects.Callbacks {
	return objects.Callbacks{
		Event: uintptr(unsafe.Pointer(event)), Batch: uintptr(unsafe.Pointer(batch)), End: uintptr(unsafe.Pointer(end)), User: uintptr(user),
	}
}

//export coreSubscriberOpen
func coreSubscriberOpen(h C.tagbus_handle, options *C.char, onEvent C.tagbus_event_fn, user unsafe.Pointer, f *C.tagbus_failure) (s C.tagbus_handle) {
	defer panickedOpening(f, &s)
	o, err := lib.OpenSubscriber(objects.Handle(h), text(options), events(onEvent, user))
	return opened(f, o, err)
}

//export coreSubscribe
func coreSubscribe(h C.tagbus_handle, set, options *C.char, onBatch C.tagbus_batch_fn, onEnd C.tagbus_end_fn, user unsafe.Pointer, f *C.tagbus_failure) (sub C.tagbus_handle) {
	defer panickedOpening(f, &sub)
	if err := needed(set, "tagbus_subscribe", "tags"); err != nil {
		return opened(f, 0, err)
	}
	s, err := lib.Subscribe(objects.Handle(h), text(set), text(options), callbacks(nil, onBatch, onEnd, user))
	return opened(f, s, err)
}

//export coreSubscriptionChange
func coreSubscriptionChange(h C.tagbus_handle, set *C.char, add C.int, f *C.tagbus_failure) (code C.int) {
	defer panicked(f, &code)
	if err := needed(set, "tagbus_subscription_add or _remove", "tags"); err != nil {
		return fail(f, err)
	}
	return fail(f, lib.ChangeSubscription(objects.Handle(h), text(set), add != 0))
}

//export coreSubscriptionClose
func coreSubscriptionClose(h C.tagbus_handle, f *C.tagbus_failure) (code C.int) {
	defer panicked(f, &code)
	return fail(f, lib.CloseSubscription(objects.Handle(h)))
}

//export corePull
func corePull(h C.tagbus_handle, f *C.tagbus_failure) (bell *C.tagbus_bell) {
	var code C.int
	defer panicked(f, &code)
	s, err := lib.Subscription(objects.Handle(h))
	if err == nil {
		var b uintptr
		if b, err = s.Bell("tagbus_next"); err == nil {
			return *(**C.tagbus_bell)(unsafe.Pointer(&b))
		}
	}
	fail(f, err)
	return nil
}

//export coreNext
func coreNext(h C.tagbus_handle, to **C.tagbus_box, f *C.tagbus_failure) (code C.int) {
	defer panicked(f, &code)
	s, err := lib.Subscription(objects.Handle(h))
	if err != nil {
		return fail(f, err)
	}
	b, err := s.Next()
	if err != nil {
		var empty *objects.Error
		if errors.As(err, &empty) && empty.Code == objects.Empty {
			return C.int(objects.Empty)
		}
		return fail(f, err)
	}
	*to = box(b, true)
	return 0
}

//export coreFD
func coreFD(h C.tagbus_handle, f *C.tagbus_failure) (fd C.int) {
	defer panicked(f, &fd)
	s, err := lib.Subscription(objects.Handle(h))
	if err != nil {
		return fail(f, err)
	}
	n, err := s.FD()
	if err != nil {
		return fail(f, err)
	}
	return C.int(n)
}

//export coreReceiverOpen
func coreReceiverOpen(h C.tagbus_handle, set, options *C.char, onBatch C.tagbus_batch_fn, onEnd C.tagbus_end_fn, onEvent C.tagbus_event_fn, user unsafe.Pointer, f *C.tagbus_failure) (r C.tagbus_handle) {
	defer panickedOpening(f, &r)
	if err := needed(set, "tagbus_receiver_open", "tags"); err != nil {
		return opened(f, 0, err)
	}
	o, err := lib.OpenReceiver(objects.Handle(h), text(set), text(options), callbacks(onEvent, onBatch, onEnd, user))
	return opened(f, o, err)
}

//export coreReceiverMessages
func coreReceiverMessages(h C.tagbus_handle, f *C.tagbus_failure) (sub C.tagbus_handle) {
	defer panickedOpening(f, &sub)
	s, err := lib.Messages(objects.Handle(h))
	return opened(f, s, err)
}

//export coreRequesterOpen
func coreRequesterOpen(sender, subscriber C.tagbus_handle, command, reply C.uint64_t, options *C.char, f *C.tagbus_failure) (r C.tagbus_handle) {
	defer panickedOpening(f, &r)
	o, err := lib.OpenRequester(objects.Handle(sender), objects.Handle(subscriber), uint64(command), uint64(reply), text(options))
	return opened(f, o, err)
}

//export coreRequest
func coreRequest(h C.tagbus_handle, command unsafe.Pointer, size C.size_t, to **C.tagbus_box, ms C.int64_t, f *C.tagbus_failure) (code C.int) {
	defer panicked(f, &code)
	bytes, err := payload("tagbus_request", command, size)
	if err != nil {
		return fail(f, err)
	}
	m, err := lib.Request(objects.Handle(h), bytes, int64(ms))
	if err != nil {
		return fail(f, err)
	}
	b, x := newBox(1, true, m.Publisher)
	x.reply, b.kept = m, 1
	rows := rowsOf(b)
	rows[0] = bus.Row{
		Tag: m.Tag, Counter: m.Counter, Data: uintptr(unsafe.Pointer(unsafe.SliceData(m.Data))), Size: uint32(len(m.Data)), Status: m.Status,
		Request: m.RequestID() != bus.RequestID{},
	}
	*(*[16]byte)(unsafe.Pointer(b.ids)) = m.RequestID().Bytes()
	span(b, x, rows)
	*to = b
	return 0
}

//export coreStats
func coreStats(h C.tagbus_handle, f *C.tagbus_failure) *C.char {
	return json(f, func() ([]byte, error) { return lib.Stats(objects.Handle(h)) })
}

//export coreState
func coreState(h C.tagbus_handle, options *C.char, f *C.tagbus_failure) *C.char {
	return json(f, func() ([]byte, error) { return lib.State(objects.Handle(h), text(options)) })
}

// json returns a text that the caller frees.
func json(f *C.tagbus_failure, ask func() ([]byte, error)) *C.char {
	var code C.int
	var said []byte
	func() {
		defer panicked(f, &code)
		var err error
		said, err = ask()
		code = fail(f, err)
	}()
	if code != 0 {
		return nil
	}
	return C.CString(string(said))
}
