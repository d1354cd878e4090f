// SPDX-License-Identifier: Apache-2.0

package core

/*
#include "hooks.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"unsafe"

	"tagbus/bus"
	"tagbus/cmd/libtagbus/objects"
)

func events(fn C.tagbus_event_fn, user unsafe.Pointer) objects.Callbacks {
	return objects.Callbacks{Event: uintptr(unsafe.Pointer(fn)), User: uintptr(user)}
}

//export corePublisherOpen
func corePublisherOpen(h C.tagbus_handle, set, options *C.char, onEvent C.tagbus_event_fn, user unsafe.Pointer, f *C.tagbus_failure) (p C.tagbus_handle) {
	defer panickedOpening(f, &p)
	if err := needed(set, "tagbus_publisher_open", "tags"); err != nil {
		return opened(f, 0, err)
	}
	o, err := lib.OpenPublisher(objects.Handle(h), text(set), text(options), events(onEvent, user))
	return opened(f, o, err)
}

//export corePublish
func corePublish(h C.tagbus_handle, tag C.uint64_t, data unsafe.Pointer, size C.size_t, status C.uint8_t, f *C.tagbus_failure) (code C.int) {
	defer panicked(f, &code)
	m, err := message("tagbus_publish", tag, status, data, size)
	if err == nil {
		err = lib.Publish(objects.Handle(h), m)
	}
	return fail(f, err)
}

//export corePublishBatch
func corePublishBatch(h C.tagbus_handle, messages *C.tagbus_message, count C.size_t, f *C.tagbus_failure) (n C.int64_t) {
	code := C.int(0)
	defer func() {
		if code != 0 && n == 0 {
			n = C.int64_t(code)
		}
	}()
	defer panicked(f, &code)
	if count > 0 && messages == nil || uint64(count) > math.MaxInt32 {
		code = fail(f, &objects.Error{Code: objects.Invalid, Text: fmt.Sprintf("tagbus_publish_batch: messages is %p, and count is %d, want at most %d", unsafe.Pointer(messages), uint64(count), math.MaxInt32)})
		return 0
	}
	p, err := lib.Publisher(objects.Handle(h))
	if err != nil {
		code = fail(f, err)
		return 0
	}
	did, err := p.PublishRows(unsafe.Slice((*bus.Row)(unsafe.Pointer(messages)), count))
	if row := (*bus.RowError)(nil); errors.As(err, &row) {
		err = withoutData("tagbus_publish_batch", row.Data, uint64(row.Size))
	}
	code = fail(f, err)
	return C.int64_t(did)
}

//export corePublishZeroCopy
func corePublishZeroCopy(h C.tagbus_handle, tag C.uint64_t, data unsafe.Pointer, size C.size_t, status C.uint8_t, done C.tagbus_done_fn, user unsafe.Pointer, f *C.tagbus_failure) (code C.int) {
	defer panicked(f, &code)
	m, err := message("tagbus_publish_zero_copy", tag, status, data, size)
	if err == nil {
		err = lib.PublishZeroCopy(objects.Handle(h), m, uintptr(unsafe.Pointer(done)), uintptr(user))
	}
	return fail(f, err)
}

//export coreRoom
func coreRoom(h C.tagbus_handle) *C.tagbus_bell {
	defer survive()
	bell := lib.Room(objects.Handle(h))
	return *(**C.tagbus_bell)(unsafe.Pointer(&bell))
}

//export coreReply
func coreReply(h C.tagbus_handle, request *C.uint8_t, tag C.uint64_t, data unsafe.Pointer, size C.size_t, status C.uint8_t, f *C.tagbus_failure) (code C.int) {
	defer panicked(f, &code)
	if request == nil {
		return fail(f, &objects.Error{Code: objects.Invalid, Text: "tagbus_reply: request is NULL, want the 16 bytes of tagbus_batch_request_id"})
	}
	m, err := message("tagbus_reply", tag, status, data, size)
	if err == nil {
		err = lib.Reply(objects.Handle(h), [16]byte(unsafe.Slice((*byte)(unsafe.Pointer(request)), 16)), m)
	}
	return fail(f, err)
}

//export coreFlush
func coreFlush(h C.tagbus_handle, kind C.int, f *C.tagbus_failure) (code C.int) {
	defer panicked(f, &code)
	return fail(f, lib.Flush(objects.Handle(h), objects.Kind(kind)))
}

//export corePublisherChange
func corePublisherChange(h C.tagbus_handle, set *C.char, add C.int, f *C.tagbus_failure) (code C.int) {
	defer panicked(f, &code)
	if err := needed(set, "tagbus_publisher_add or _remove", "tags"); err != nil {
		return fail(f, err)
	}
	return fail(f, lib.ChangeTags(objects.Handle(h), text(set), add != 0))
}

//export coreWait
func coreWait(h C.tagbus_handle, kind C.int, n C.size_t, set *C.char, ms C.int64_t, f *C.tagbus_failure) (code C.int) {
	defer panicked(f, &code)
	switch objects.Kind(kind) {
	case objects.KindPublisher:
		return fail(f, lib.WaitSubscribers(objects.Handle(h), uint64(n), optional(set), int64(ms)))
	case objects.KindSender:
		return fail(f, lib.WaitReceivers(objects.Handle(h), optional(set), int64(ms)))
	default:
		return fail(f, lib.WaitAcknowledged(objects.Handle(h), int64(ms)))
	}
}

//export coreDrain
func coreDrain(h C.tagbus_handle, kind C.int, failure *C.char, ms C.int64_t, f *C.tagbus_failure) (code C.int) {
	defer panicked(f, &code)
	return fail(f, lib.Drain(objects.Handle(h), objects.Kind(kind), text(failure), int64(ms)))
}

//export coreSenderOpen
func coreSenderOpen(h C.tagbus_handle, set, options *C.char, onEvent C.tagbus_event_fn, user unsafe.Pointer, f *C.tagbus_failure) (s C.tagbus_handle) {
	defer panickedOpening(f, &s)
	o, err := lib.OpenSender(objects.Handle(h), optional(set), text(options), events(onEvent, user))
	return opened(f, o, err)
}

//export coreSend
func coreSend(h C.tagbus_handle, tag C.uint64_t, data unsafe.Pointer, size C.size_t, status C.uint8_t, acked C.int, ms C.int64_t, f *C.tagbus_failure) (code C.int) {
	defer panicked(f, &code)
	m, err := message("tagbus_send", tag, status, data, size)
	if err == nil {
		err = lib.Send(objects.Handle(h), m, acked != 0, int64(ms))
	}
	return fail(f, err)
}
