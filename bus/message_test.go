// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"testing"

	"tagbus/bus"
)

func TestMessage_Retain_copiesOnesOwn(t *testing.T) {
	id := bus.RequestIDOf([16]byte{1, 2, 3})
	if got := id.Bytes(); got != [16]byte{1, 2, 3} {
		t.Errorf("got the id %v, want the bytes that it is made of", got)
	}
	data := []byte("abc")
	m := bus.Message{Tag: 1, Data: data}.WithRequestID(id)
	must(t, m.Retain())
	data[0] = 'x'
	if got := m.RequestID(); string(m.Data) != "abc" || got != id {
		t.Errorf("got %q with id %v, want a copy with id %v", m.Data, got, id)
	}
	late := m
	m.Release()
	if m.Data != nil || m.RequestID() != (bus.RequestID{}) {
		t.Errorf("released: got %q with id %v, want nothing", m.Data, m.RequestID())
	}
	if err := late.Retain(); !errors.Is(err, bus.ErrMessageOver) {
		t.Errorf("retain after the release: got error %v, want %v", err, bus.ErrMessageOver)
	}
	m = bus.Message{Tag: 1}.WithRequestID(id).WithRequestID(bus.RequestID{})
	if got := m.RequestID(); got != (bus.RequestID{}) {
		t.Errorf("got the id %v, want none", got)
	}
}
