// SPDX-License-Identifier: Apache-2.0

package netiotest_test

import (
	"slices"

	"tagbus/netio"
)

// Names of the suite's tests that notice.
const (
	retainCheck        = "retained data is unchanged until it is released"
	retainAllCheck     = "every message may be retained"
	retainClosedCheck  = "retained data outlives its endpoint and its backend"
	retainTwiceCheck   = "a message may be retained twice and inside a close"
	retainOutsideCheck = "Retain outside OnData is refused"
)

// noMemory stands for memory that is not kept.
type noMemory struct{ bytes int }

// Bytes implements netio.Retained.
func (m *noMemory) Bytes() int { return m.bytes }

// Release implements netio.Retained.
func (*noMemory) Release() {}

// retainNothing says that all is kept.
func retainNothing(*brokenEndpoint) (netio.Retained, error) { return &noMemory{1 << 20}, nil }

// brokenRetains break promises about messages that are kept.
var brokenRetains = []brokenBackend{
	{"retained data is overwritten by the next message", retainCheck, faults{
		retain: retainNothing,
		data: func(b *broken, data []byte, call func([]byte)) {
			data = slices.Clone(data)
			b.release()
			b.held = append(b.held, func() { clear(data) })
			call(data)
		},
	}},
	{"the first retained data is overwritten when many more are", retainAllCheck, faults{
		retain: retainNothing,
		data: func(b *broken, data []byte, call func([]byte)) {
			data = slices.Clone(data)
			call(data)
			if b.nth("data", 1) {
				b.held = append(b.held, func() { clear(data) })
			} else if b.nth("more", 500) {
				b.release()
			}
		},
	}},
	{"retained data is overwritten when its endpoint ends", retainClosedCheck, faults{
		retain: retainNothing,
		data: func(b *broken, data []byte, call func([]byte)) {
			data = slices.Clone(data)
			b.held = append(b.held, func() { clear(data) })
			call(data)
		},
		closed: func(b *broken, keys []netio.Key, cause error, call func([]netio.Key, error)) {
			b.release()
			call(keys, cause)
		},
	}},
	{"retained memory is told too small", retainCheck, faults{retain: func(e *brokenEndpoint) (netio.Retained, error) {
		r, err := e.Endpoint.Retain()
		if err != nil {
			return nil, err
		}
		r.Release()
		return &noMemory{0}, nil
	}}},
	{"one message has two memories", retainTwiceCheck, faults{retain: retainNothing}},
	{"Retain does not look whether there is a message", retainOutsideCheck, faults{retain: retainNothing}},
}
