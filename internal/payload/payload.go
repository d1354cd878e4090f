// SPDX-License-Identifier: Apache-2.0

// Package payload says what is in the bytes of messages, as a file in JSON describes them:
//
//	{"payloads": [{
//	  "name": "Crate",
//	  "tags": "0x1000-0x1fff",
//	  "endian": "little",
//	  "fields": [
//	    {"name": "event", "type": "u32"},
//	    {"name": "temperature", "type": "i16", "scale": 0.01, "add": -40, "unit": "degC"},
//	    {"name": "trigger", "type": "u8", "offset": 8, "bits": "0-3"},
//	    {"name": "samples", "type": "u16", "endian": "big", "offset": 10, "count": "rest"}
//	  ]
//	}]}
//
// Of a payload:
//
//	name    of its type: letters, digits and _, no digit first
//	tags    of the messages that have it, in the text form of a tags.Set; no tag of another
//	endian  little (the default) or big
//	fields  in any order; they may overlap
//
// Of a field:
//
//	name    as that of a payload; those that begin with tagbus_ are taken
//	type    u8, u16, u32, u64, i8, i16, i32, i64, f32 or f64
//	offset  of its first byte; default: behind the field before, 0 for the first
//	endian  default: that of the payload
//	count   of elements that follow each other: a number, or "rest" for all up to the end;
//	        default: one, which is no array
//	bits    of an unsigned number, "FIRST-LAST" or "BIT" from the lowest, which is 0
//	scale   by which the number is multiplied; then add is added. It is a float then
//	unit    for people
package payload

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"tagbus/tags"
)

// Payload describes the bytes of messages of some tags.
type Payload struct {
	Name   string
	Tags   tags.Set
	Fields []Field
	Bytes  int // that a message has at least

	covered int    // bytes from the beginning that fields have as they are
	rest    *Field // that has all behind them; nil: none
}

// Field is a number or an array of numbers in a payload.
type Field struct {
	Name   string
	Type   Type
	Offset int
	Count  int // of elements; Rest: up to the end
	Array  bool
	Big    bool // the byte order is big-endian
	Shift  uint // of Bits, from the lowest
	Bits   uint // 0: all
	Scaled bool
	Scale  float64
	Add    float64
	Unit   string
}

// Rest is the Count of an array that goes to the end of the payload.
const Rest = -1

// Type is that of a number.
type Type uint8

// The types.
const (
	U8 Type = iota
	U16
	U32
	U64
	I8
	I16
	I32
	I64
	F32
	F64
	types
)

var typeNames = [types]string{"u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64"}

// String returns the name of the type.
func (t Type) String() string { return typeNames[t] }

// Bytes returns how many a number has.
func (t Type) Bytes() int { return [types]int{1, 2, 4, 8, 1, 2, 4, 8, 4, 8}[t] }

// IsSigned reports whether the type is i8 to i64.
func (t Type) IsSigned() bool { return t >= I8 && t <= I64 }

// IsFloat reports whether the type is f32 or f64.
func (t Type) IsFloat() bool { return t >= F32 }

// ErrShort is wrapped by the error for a payload that has not all of its fields.
var ErrShort = errors.New("the payload is shorter than its description")

// ShortError says which field a payload does not have.
type ShortError struct {
	Payload, Field string
	Want, Got      int // bytes up to the end of the field, and those that there are
}

// Error names the field.
func (e *ShortError) Error() string {
	return fmt.Sprintf("%v: field %s of %s ends at byte %d of %d", ErrShort, e.Field, e.Payload, e.Want, e.Got)
}

// Unwrap returns ErrShort.
func (e *ShortError) Unwrap() error { return ErrShort }

// Check reports whether a payload has all fields.
//
//   - Errors: a *ShortError, for the first that it has not.
func (p *Payload) Check(data []byte) error {
	if len(data) >= p.Bytes {
		return nil
	}
	for i := range p.Fields {
		if f := &p.Fields[i]; f.end() > len(data) {
			return &ShortError{p.Name, f.Name, f.end(), len(data)}
		}
	}
	return nil
}

// end returns the byte behind the field; behind its beginning for one that goes to the end.
func (f *Field) end() int { return f.Offset + max(f.Count, 0)*f.Type.Bytes() }

// Len returns how many numbers the field has in a payload that Check has passed.
func (f *Field) Len(data []byte) int {
	if f.Count == Rest {
		return (len(data) - f.Offset) / f.Type.Bytes()
	}
	return f.Count
}

// IsCovered reports whether the fields have each bit of a payload that Check has passed, so
// that it can be made of them again.
func (p *Payload) IsCovered(data []byte) bool {
	if p.rest == nil {
		return p.covered == len(data)
	}
	return p.rest.Offset+p.rest.Len(data)*p.rest.Type.Bytes() == len(data)
}

// cover notes how much the fields cover.
func (p *Payload) cover() {
	var whole []*Field
	for i := range p.Fields {
		if f := &p.Fields[i]; !f.Scaled && f.Bits == 0 {
			whole = append(whole, f)
		}
	}
	slices.SortStableFunc(whole, func(a, b *Field) int { return cmp.Compare(a.Offset, b.Offset) })
	for _, f := range whole {
		if f.Offset > p.covered {
			return
		}
		p.covered = max(p.covered, f.end())
		if f.Count == Rest {
			p.rest = f
		}
	}
}

// Raw returns number i of the field as its bits, sign-extended to 64: of a float those of its
// IEEE 754 form.
func (f *Field) Raw(data []byte, i int) uint64 {
	n := f.Type.Bytes()
	b := data[f.Offset+i*n:][:n]
	var v uint64
	switch n {
	case 1:
		v = uint64(b[0])
	case 2:
		v = uint64(f.order().Uint16(b))
	case 4:
		v = uint64(f.order().Uint32(b))
	default:
		v = f.order().Uint64(b)
	}
	if f.Bits > 0 {
		return v >> f.Shift & (1<<f.Bits - 1)
	}
	if f.Type.IsSigned() {
		unused := uint(64 - 8*n)
		return uint64(int64(v<<unused) >> unused)
	}
	return v
}

func (f *Field) order() binary.ByteOrder {
	if f.Big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// Float returns number i of the field, scaled if it is. Integers above 2^53 are rounded.
func (f *Field) Float(data []byte, i int) float64 {
	v := f.Raw(data, i)
	var x float64
	switch {
	case f.Type == F32:
		x = float64(math.Float32frombits(uint32(v)))
	case f.Type == F64:
		x = math.Float64frombits(v)
	case f.Type.IsSigned():
		x = float64(int64(v))
	default:
		x = float64(v)
	}
	if f.Scaled {
		x = x*f.Scale + f.Add
	}
	return x
}

// IsReal reports whether the numbers of the field are floats, of the type or by their scale.
func (f *Field) IsReal() bool { return f.Scaled || f.Type.IsFloat() }

// AppendJSON appends the fields of a payload that Check has passed, as an object of JSON.
// Integers have all their digits. What JSON has no number for is a text: "NaN", "Infinity"
// and "-Infinity".
func (p *Payload) AppendJSON(b, data []byte) []byte {
	b = append(b, '{')
	for i := range p.Fields {
		f := &p.Fields[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), f.Name...), '"', ':')
		if !f.Array {
			b = f.appendNumber(b, data, 0)
			continue
		}
		b = append(b, '[')
		for k := range f.Len(data) {
			if k > 0 {
				b = append(b, ',')
			}
			b = f.appendNumber(b, data, k)
		}
		b = append(b, ']')
	}
	return append(b, '}')
}

func (f *Field) appendNumber(b, data []byte, i int) []byte {
	if !f.IsReal() {
		v := f.Raw(data, i)
		if f.Type.IsSigned() {
			return strconv.AppendInt(b, int64(v), 10)
		}
		return strconv.AppendUint(b, v, 10)
	}
	bits := 64
	if f.Type == F32 && !f.Scaled {
		bits = 32
	}
	switch x := f.Float(data, i); {
	case math.IsNaN(x):
		return append(b, `"NaN"`...)
	case math.IsInf(x, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(x, -1):
		return append(b, `"-Infinity"`...)
	default:
		return strconv.AppendFloat(b, x, 'g', -1, bits)
	}
}
