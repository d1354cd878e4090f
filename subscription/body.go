// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/vmihailenco/msgpack/v5"
)

func appendBody(b []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	enc := msgpack.NewEncoder(buf)
	enc.UseCompactInts(true)
	if err := enc.Encode(v); err != nil {
		return b, fmt.Errorf("subscription: encode: %w", err)
	}
	return buf.Bytes(), nil
}

// decodeBody decodes the msgpack map that fills b into v, a pointer to one of
// this package's structs. Its shape is checked first: the msgpack library would
// allocate the 4 GiB that a length in b announces, and reads nil, arrays and
// negative numbers as something else.
func decodeBody(b []byte, v any) error {
	if err := checkBody(b, bodyFields(v)); err != nil {
		return err
	}
	return msgpack.Unmarshal(b, v)
}

// bodyField is one field that a map may have.
type bodyField struct {
	name     string
	kind     reflect.Kind // of the Go field: Uint64, Int, Bool, String, or Slice for bytes
	optional bool
}

// bodyFields returns the fields of the struct that v points to.
func bodyFields(v any) []bodyField {
	t := reflect.TypeOf(v).Elem()
	fields := make([]bodyField, t.NumField())
	for i := range fields {
		name, option, _ := strings.Cut(t.Field(i).Tag.Get("msgpack"), ",")
		fields[i] = bodyField{name, t.Field(i).Type.Kind(), option == "omitempty"}
	}
	return fields
}

// checkBody refuses everything but one map, from the first byte of b to the
// last, that has each of the fields at most once and the required ones, with
// values of their types.
func checkBody(b []byte, fields []bodyField) error {
	w := bodyWalk{rest: b, size: len(b)}
	n, err := w.mapLen()
	if err != nil {
		return err
	}
	var seen uint64 // bit per field
	for range n {   // every round takes bytes or fails, whatever n claims
		name, err := w.payload("name of a field", textCodes)
		if err != nil {
			return err
		}
		i := 0
		for i < len(fields) && fields[i].name != string(name) {
			i++
		}
		switch {
		case i == len(fields):
			return fmt.Errorf("unknown field %q", name[:min(len(name), 32)])
		case seen>>i&1 == 1:
			return fmt.Errorf("field %q given twice", fields[i].name)
		}
		seen |= 1 << i
		if err := w.value(fields[i]); err != nil {
			return err
		}
	}
	for i, f := range fields {
		if seen>>i&1 == 0 && !f.optional {
			return fmt.Errorf("field %q is missing", f.name)
		}
	}
	if len(w.rest) > 0 {
		return w.errorf("%d bytes after the end", len(w.rest))
	}
	return nil
}

// bodyWalk reads msgpack without keeping anything.
type bodyWalk struct {
	rest []byte // not yet read
	size int    // of the whole
}

// lengthCodes are the first bytes of a kind of value that carries a length.
type lengthCodes struct {
	fix, fixMask byte    // short form; a fixMask of 0 means there is none
	sized        [3]byte // length in 1, 2, 4 bytes follows; 0 means there is none
}

var (
	mapCodes  = lengthCodes{0x80, 0xf0, [3]byte{0, 0xde, 0xdf}}
	textCodes = lengthCodes{0xa0, 0xe0, [3]byte{0xd9, 0xda, 0xdb}}
	byteCodes = lengthCodes{0, 0, [3]byte{0xc4, 0xc5, 0xc6}}
)

// take returns the next n bytes, or nil if there are not as many.
func (w *bodyWalk) take(n int) []byte {
	if n > len(w.rest) {
		return nil
	}
	b := w.rest[:n:n]
	w.rest = w.rest[n:]
	return b
}

// length reads what stands in front of a map, a text or bytes.
func (w *bodyWalk) length(what string, codes lengthCodes) (uint32, error) {
	at := *w
	first := w.take(1)
	if first == nil {
		return 0, w.errorf("cut off, want the %s", what)
	}
	c := first[0]
	if codes.fixMask != 0 && c&codes.fixMask == codes.fix {
		return uint32(c &^ codes.fixMask), nil
	}
	for i, code := range codes.sized {
		if code == 0 || c != code {
			continue
		}
		n := w.take(1 << i)
		if n == nil {
			return 0, w.errorf("cut off, want the length of the %s", what)
		}
		var length uint32
		for _, b := range n { // big-endian
			length = length<<8 | uint32(b)
		}
		return length, nil
	}
	return 0, at.errorf("msgpack code 0x%02x, want the %s", c, what)
}

func (w *bodyWalk) mapLen() (uint32, error) { return w.length("map", mapCodes) }

// payload reads a text or bytes.
func (w *bodyWalk) payload(what string, codes lengthCodes) ([]byte, error) {
	n, err := w.length(what, codes)
	if err != nil {
		return nil, err
	}
	if uint64(n) > uint64(len(w.rest)) {
		return nil, w.errorf("%s of %d bytes, %d left", what, n, len(w.rest))
	}
	return w.take(int(n)), nil
}

// value reads the value of a field.
func (w *bodyWalk) value(f bodyField) error {
	switch f.kind {
	case reflect.String:
		_, err := w.payload(f.name, textCodes)
		return err
	case reflect.Slice:
		_, err := w.payload(f.name, byteCodes)
		return err
	case reflect.Bool:
		return w.boolean(f.name)
	case reflect.Int:
		return w.number(f.name, math.MaxInt)
	case reflect.Uint16:
		return w.number(f.name, math.MaxUint16)
	case reflect.Uint64:
		return w.number(f.name, math.MaxUint64)
	default:
		return errors.New("subscription: no msgpack form for a field of " + f.kind.String())
	}
}

func (w *bodyWalk) boolean(what string) error {
	at := *w
	first := w.take(1)
	if first == nil {
		return w.errorf("cut off, want the %s", what)
	}
	if c := first[0]; c != 0xc2 && c != 0xc3 {
		return at.errorf("msgpack code 0x%02x, want the %s: true or false", c, what)
	}
	return nil
}

// number reads an integer of any width, signed or not, from 0 to limit.
func (w *bodyWalk) number(what string, limit uint64) error {
	at := *w
	first := w.take(1)
	if first == nil {
		return w.errorf("cut off, want the %s", what)
	}
	c := first[0]
	if c < 0x80 {
		return nil
	}
	negative := c >= 0xe0
	if c >= 0xcc && c <= 0xd3 { // uint8, 16, 32, 64, int8, 16, 32, 64
		b := w.take(1 << ((c - 0xcc) & 3))
		if b == nil {
			return w.errorf("cut off in the %s", what)
		}
		var wide [8]byte
		copy(wide[8-len(b):], b)
		negative = c >= 0xd0 && b[0] >= 0x80
		if n := binary.BigEndian.Uint64(wide[:]); !negative && n > limit {
			return at.errorf("%s is %d, limit %d", what, n, limit)
		}
	} else if !negative {
		return at.errorf("msgpack code 0x%02x, want the %s: a number", c, what)
	}
	if negative {
		return at.errorf("%s is negative", what)
	}
	return nil
}

// errorf returns an error that names the byte of the map at which w stands.
func (w *bodyWalk) errorf(format string, args ...any) error {
	return fmt.Errorf("at byte %d of the map: %s", w.size-len(w.rest), fmt.Sprintf(format, args...))
}
