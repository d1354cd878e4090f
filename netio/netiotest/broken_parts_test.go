// SPDX-License-Identifier: Apache-2.0

package netiotest_test

import (
	"slices"
	"testing"

	"tagbus/netio"
)

// Names of the suite's tests that notice.
const (
	partsCheck        = "messages in parts come in the order of sending, with the others"
	partsStableCheck  = "parts are unchanged until OnDataParts returns"
	partsRefusedCheck = "parts that are not taken come in one"
	partsPauseCheck   = "after a pause inside OnDataParts not one more message comes"
	partsRetainCheck  = "retained parts are unchanged until they are released"
	partsCloseCheck   = "a close inside OnDataParts is the end"
)

// cut returns where a message is cut in two, 0 if it is too short.
func cut(data []byte) int { return min(len(data)-1, netio.MaxHeaderBytes) }

// inParts delivers a message as it should be.
func inParts(_ *broken, data []byte, offer func(head, data []byte) bool, call func([]byte)) {
	if n := cut(data); n == 0 || !offer(data[:n], data[n:]) {
		call(data)
	}
}

// brokenParts break promises about messages in parts.
var brokenParts = []brokenBackend{
	{"a header is too long", partsCheck, faults{parts: func(b *broken, data []byte, offer func(head, data []byte) bool, call func([]byte)) {
		if n := netio.MaxHeaderBytes + 1; len(data) <= n || !offer(data[:n], data[n:]) {
			inParts(b, data, offer, call)
		}
	}}},
	{"there is nothing behind the header", partsCheck, faults{parts: func(_ *broken, data []byte, offer func(head, data []byte) bool, call func([]byte)) {
		if len(data) > netio.MaxHeaderBytes || !offer(data, nil) {
			call(data)
		}
	}}},
	{"a byte is lost between the parts", partsCheck, faults{parts: func(b *broken, data []byte, offer func(head, data []byte) bool, call func([]byte)) {
		if n := cut(data); n > 1 && b.nth("parts", 9) {
			offer(data[:n-1], data[n:])
			return
		}
		inParts(b, data, offer, call)
	}}},
	{"the header is overwritten inside OnDataParts", partsStableCheck, faults{
		parts: func(b *broken, data []byte, offer func(head, data []byte) bool, call func([]byte)) {
			data = slices.Clone(data)
			if n := cut(data); n > 0 {
				b.held = []func(){func() { data[0]++ }}
			}
			inParts(b, data, offer, call)
			b.held = nil
		},
		pause: func(e *brokenEndpoint) {
			e.b.release()
			e.Endpoint.PauseReceive()
		},
	}},
	{"parts that are taken come once more in one", partsCheck, faults{parts: func(_ *broken, data []byte, offer func(head, data []byte) bool, call func([]byte)) {
		if n := cut(data); n > 0 {
			offer(data[:n], data[n:])
		}
		call(data)
	}}},
	{"parts that are not taken do not come", partsRefusedCheck, faults{parts: func(_ *broken, data []byte, offer func(head, data []byte) bool, call func([]byte)) {
		if n := cut(data); n > 0 {
			offer(data[:n], data[n:])
			return
		}
		call(data)
	}}},
	{"parts that are not taken come without their header", partsRefusedCheck, faults{parts: func(_ *broken, data []byte, offer func(head, data []byte) bool, call func([]byte)) {
		if n := cut(data); n > 0 && !offer(data[:n], data[n:]) {
			call(data[n:])
			return
		}
		call(data)
	}}},
	{"parts that are not taken come behind the next message", partsRefusedCheck, faults{parts: func(b *broken, data []byte, offer func(head, data []byte) bool, call func([]byte)) {
		data = slices.Clone(data)
		if n := cut(data); n > 0 && !offer(data[:n], data[n:]) {
			b.held = append(b.held, func() { call(data) })
			return
		}
		b.release()
	}}},
	{"a pause inside OnDataParts comes too late", partsPauseCheck, faults{parts: func(b *broken, data []byte, offer func(head, data []byte) bool, call func([]byte)) {
		data = slices.Clone(data)
		if len(b.held) == 0 {
			b.held = append(b.held, func() { inParts(b, data, offer, call) })
			return
		}
		b.release()
		inParts(b, data, offer, call)
	}}},
	{"retained parts are overwritten by the next message", partsRetainCheck, faults{
		retain: retainNothing,
		parts: func(b *broken, data []byte, offer func(head, data []byte) bool, call func([]byte)) {
			data = slices.Clone(data)
			b.release()
			b.held = append(b.held, func() { clear(data) })
			inParts(b, data, offer, call)
		},
	}},
	{"parts come after a close", partsCloseCheck, faults{parts: func(b *broken, data []byte, offer func(head, data []byte) bool, call func([]byte)) {
		inParts(b, data, offer, call)
		if b.nth("parts", 1) {
			inParts(b, data, offer, call)
		}
	}}},
}

// TestSuiteAcceptsParts shows that the checks are passed by a backend that delivers every
// message in parts.
func TestSuiteAcceptsParts(t *testing.T) {
	for _, check := range []string{partsCheck, partsStableCheck, partsRefusedCheck, partsPauseCheck, partsRetainCheck, partsCloseCheck} {
		t.Run(check, func(t *testing.T) {
			if fake := checkBroken(t, faults{parts: inParts}, check); fake.Failed() || fake.skipped {
				t.Errorf("got failures %q and skipped %v, want none and false", fake.failures, fake.skipped)
			}
		})
	}
}
