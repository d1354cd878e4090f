// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"encoding/binary"
	"math"
)

// A payload as a message of Protocol Buffers has each number exactly: 64 bits and NaN, which
// JSON has not. Programs that plot MCAP files read it by its descriptor.

// Numbers and names of the fields that each message has beside those of its payload.
const (
	counterField = iota + 1
	statusField
	tagField
	requestField
	dataField

	firstField = 16 // of the payload
)

// Package is that of the messages in their descriptors.
const Package = "tagbus"

// Types of fields in a descriptor, and labels.
const (
	protoDouble, protoFloat, protoUint64, protoBytes, protoUint32, protoSint32, protoSint64 = 1, 2, 4, 12, 13, 17, 18

	labelOptional, labelRepeated = 1, 3
)

// Types of bytes on the wire.
const (
	wireVarint, wire64, wireBytes, wire32 = 0, 1, 2, 5
)

// proto returns the type of the field in a descriptor.
func (f *Field) proto() uint64 {
	switch {
	case f.Scaled || f.Type == F64:
		return protoDouble
	case f.Type == F32:
		return protoFloat
	case f.Type == I64:
		return protoSint64
	case f.Type.IsSigned():
		return protoSint32
	case f.Type == U64:
		return protoUint64
	}
	return protoUint32
}

// Descriptor returns a FileDescriptorSet with the message of the payload, whose full name is
// Package and the payload's.
func (p *Payload) Descriptor() []byte {
	message := appendBytes(nil, 1, []byte(p.Name))
	field := func(name string, number, label, kind uint64) {
		b := appendBytes(nil, 1, []byte(name))
		b = appendNumber(b, 3, number)
		b = appendNumber(b, 4, label)
		message = appendBytes(message, 2, appendNumber(b, 5, kind))
	}
	field("tagbus_counter", counterField, labelOptional, protoUint64)
	field("tagbus_status", statusField, labelOptional, protoUint32)
	field("tagbus_tag", tagField, labelOptional, protoUint64)
	field("tagbus_request", requestField, labelOptional, protoBytes)
	field("tagbus_data", dataField, labelOptional, protoBytes)
	for i := range p.Fields {
		f := &p.Fields[i]
		label := uint64(labelOptional)
		if f.Array {
			label = labelRepeated
		}
		field(f.Name, uint64(firstField+i), label, f.proto())
	}
	file := appendBytes(nil, 1, []byte(Package+"/"+p.Name+".proto"))
	file = appendBytes(file, 2, []byte(Package))
	file = appendBytes(file, 4, message)
	file = appendBytes(file, 12, []byte("proto3"))
	return appendBytes(nil, 1, file)
}

// Envelope is what a message has beside its payload.
type Envelope struct {
	Tag, Counter uint64
	Status       uint32
	Request      []byte // the id of a request; nil: none
	Data         []byte // all bytes of the message; nil: the fields have all of them
}

// AppendProto appends a payload that Check has passed as a message of its Descriptor.
func (p *Payload) AppendProto(b []byte, e *Envelope, data []byte) []byte {
	b = appendNumber(b, counterField, e.Counter)
	b = appendNumber(b, statusField, uint64(e.Status))
	b = appendNumber(b, tagField, e.Tag)
	if e.Request != nil {
		b = appendBytes(b, requestField, e.Request)
	}
	if e.Data != nil {
		b = appendBytes(b, dataField, e.Data)
	}
	for i := range p.Fields {
		f := &p.Fields[i]
		number := uint64(firstField + i)
		if !f.Array {
			b = binary.AppendUvarint(b, number<<3|f.wire())
			b = f.appendProto(b, data, 0)
			continue
		}
		b = binary.AppendUvarint(b, number<<3|wireBytes)
		at := len(b)
		b = append(b, 0, 0, 0, 0, 0)
		for k := range f.Len(data) {
			b = f.appendProto(b, data, k)
		}
		size := len(b) - at - lengthBytes
		for k := range lengthBytes { // a number may be longer than it needs to be
			b[at+k] = byte(size>>(7*k))&0x7f | 0x80
		}
		b[at+lengthBytes-1] &= 0x7f
	}
	return b
}

// lengthBytes are those of the length of an array, which is not known before it is written.
const lengthBytes = 5

// wire returns the type of a number on the wire.
func (f *Field) wire() uint64 {
	switch f.proto() {
	case protoDouble:
		return wire64
	case protoFloat:
		return wire32
	}
	return wireVarint
}

// varint returns number i as it stands on the wire, if that is a varint.
func (f *Field) varint(data []byte, i int) uint64 {
	v := f.Raw(data, i)
	if f.Type.IsSigned() {
		return v<<1 ^ uint64(int64(v)>>63)
	}
	return v
}

func (f *Field) appendProto(b, data []byte, i int) []byte {
	switch f.wire() {
	case wire64:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(f.Float(data, i)))
	case wire32:
		return binary.LittleEndian.AppendUint32(b, uint32(f.Raw(data, i)))
	}
	return binary.AppendUvarint(b, f.varint(data, i))
}

func appendNumber(b []byte, field, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, field<<3|wireVarint), v)
}

func appendBytes(b []byte, field uint64, data []byte) []byte {
	b = binary.AppendUvarint(b, field<<3|wireBytes)
	return append(binary.AppendUvarint(b, uint64(len(data))), data...)
}
