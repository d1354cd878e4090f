// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"encoding/binary"
	"fmt"
)

// setFormat is the first byte of the binary form. It is part of the wire protocol.
const setFormat = 1

// Least bytes of one range and of one pattern, which bound what a count may claim.
const (
	minRangeBytes = 2
	minMaskBytes  = 2
)

// AppendBinary appends the binary form of the set to b. The error is always nil.
//
// The form is part of the wire protocol. A varint is an unsigned integer in base 128,
// lowest 7 bits first, bit 7 of a byte set if another byte follows (as
// encoding/binary.AppendUvarint writes it), 1 to 10 bytes, in the shortest form.
//
//	bytes   field
//	1       format: 0x01
//	1..10   R, the number of ranges (varint)
//	2..20   R times, ascending:
//	          varint  first range: first tag; others: first tag - (last tag of the range before + 2)
//	          varint  last tag - first tag
//	1..10   M, the number of patterns (varint)
//	2..20   M times, ascending by mask and then by value:
//	          varint  mask - mask of the pattern before (0 before the first)
//	          varint  value, or value - (value of the pattern before + 1) if the varint above is 0
//
// A set has one binary form only. Ranges that overlap or touch, patterns out of order
// and patterns given twice cannot be expressed. Refused by UnmarshalBinary besides: a
// range or a pattern that runs past 2^64-1, a value with bits outside its mask, a
// pattern that is a range (its zero mask bits are the lowest bits, or there are none), a
// pattern whose lowest and highest tags lie in one of the ranges, a varint that is not
// the shortest, and bytes after the end. The empty set is 01 00 00, all tags are
// 01 01 00 ff ff ff ff ff ff ff ff ff 01 00, and the range 5-7 with tag 9 is
// 01 02 05 02 00 00 00.
func (s Set) AppendBinary(b []byte) ([]byte, error) {
	b = append(b, setFormat)
	b = binary.AppendUvarint(b, uint64(len(s.ranges)))
	base := Tag(0) // the lowest first tag that the next range can have
	for _, r := range s.ranges {
		b = binary.AppendUvarint(b, uint64(r.lo-base))
		b = binary.AppendUvarint(b, uint64(r.hi-r.lo))
		base = r.hi + 2
	}
	b = binary.AppendUvarint(b, uint64(len(s.masks)))
	var prev pattern
	for _, p := range s.masks {
		b = binary.AppendUvarint(b, uint64(p.mask-prev.mask))
		if p.mask == prev.mask {
			b = binary.AppendUvarint(b, uint64(p.value-(prev.value+1)))
		} else {
			b = binary.AppendUvarint(b, uint64(p.value))
		}
		prev = p
	}
	return b, nil
}

// MarshalBinary returns the binary form; msgpack holds a set as these bytes. The
// error is always nil.
func (s Set) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// UnmarshalBinary sets s from the binary form; s is unchanged on an error. It keeps
// no reference to data, and allocates at most 8 bytes for each byte of data, whatever
// counts data claims.
//
//   - Errors: *DecodeError.
func (s *Set) UnmarshalBinary(data []byte) error {
	d := setDecoder{data: data}
	v, err := d.set()
	if err != nil {
		return err
	}
	*s = v
	return nil
}

// setDecoder reads the binary form from data, of which at bytes are read.
type setDecoder struct {
	data []byte
	at   int
	most *limits // nil: any number of parts
}

func (d *setDecoder) set() (Set, error) {
	if len(d.data) == 0 {
		return Set{}, d.errorf("no bytes where a set is wanted")
	}
	if d.data[0] != setFormat {
		return Set{}, d.errorf("set format %d, want %d", d.data[0], setFormat)
	}
	d.at = 1
	ranges, err := d.ranges()
	if err != nil {
		return Set{}, err
	}
	masks, err := d.masks(ranges)
	if err != nil {
		return Set{}, err
	}
	if d.at != len(d.data) {
		return Set{}, d.errorf("%d bytes after the set", len(d.data)-d.at)
	}
	return Set{ranges: ranges, masks: masks}, nil
}

func (d *setDecoder) ranges() ([]span, error) {
	n, err := d.count("ranges", minRangeBytes)
	if err == nil && d.most != nil {
		err = d.allow("ranges", uint64(n), d.most.ranges)
	}
	if n == 0 || err != nil {
		return nil, err
	}
	ranges := make([]span, n)
	base := Tag(0)
	for i := range ranges {
		start := d.at
		gap, err := d.uvarint()
		if err != nil {
			return nil, err
		}
		length, err := d.uvarint()
		if err != nil {
			return nil, err
		}
		lo := base + Tag(gap)
		hi := lo + Tag(length)
		// After a range that ends at 2^64-1 or one below, base has wrapped: no range can follow.
		wrapped := i > 0 && base < 2
		if wrapped || lo < base || hi < lo {
			d.at = start
			return nil, d.errorf("range %d runs past 2^64-1", i)
		}
		ranges[i] = span{lo, hi}
		base = hi + 2
	}
	return ranges, nil
}

func (d *setDecoder) masks(ranges []span) ([]pattern, error) {
	n, err := d.count("patterns", minMaskBytes)
	if err == nil && d.most != nil {
		err = d.allow("patterns", uint64(n), d.most.masks)
	}
	if n == 0 || err != nil {
		return nil, err
	}
	masks := make([]pattern, n)
	var prev pattern
	for i := range masks {
		start := d.at
		p, reason, err := d.mask(i, prev)
		if err != nil {
			return nil, err
		}
		if reason == "" && within(ranges, p) {
			reason = "lies in a range of the set"
		}
		if reason != "" {
			d.at = start
			return nil, d.errorf("pattern %d %s", i, reason)
		}
		masks[i] = p
		prev = p
	}
	return masks, nil
}

// mask reads pattern i, which follows prev; reason is not empty if it breaks a rule.
func (d *setDecoder) mask(i int, prev pattern) (p pattern, reason string, err error) {
	step, err := d.uvarint()
	if err != nil {
		return p, "", err
	}
	value, err := d.uvarint()
	if err != nil {
		return p, "", err
	}
	p = pattern{mask: prev.mask + Tag(step), value: Tag(value)}
	overflow := p.mask < prev.mask
	if i > 0 && step == 0 {
		p.value += prev.value + 1
		overflow = p.value <= prev.value
	}
	if overflow {
		return p, "runs past 2^64-1", nil
	}
	if p.value&^p.mask != 0 {
		return p, "has value bits outside its mask", nil
	}
	if _, ok := p.span(); ok {
		return p, "is a range", nil
	}
	return p, "", nil
}

// count reads a count of items that take at least itemBytes each, and refuses one
// that the rest of the data cannot hold.
func (d *setDecoder) count(what string, itemBytes int) (int, error) {
	start := d.at
	n, err := d.uvarint()
	if err != nil {
		return 0, err
	}
	if left := len(d.data) - d.at; n > uint64(left/itemBytes) {
		d.at = start
		return 0, d.errorf("%d %s claimed, %d bytes left", n, what, left)
	}
	return int(n), nil
}

// uvarint reads a varint in its shortest form.
func (d *setDecoder) uvarint() (uint64, error) {
	v, n := binary.Uvarint(d.data[d.at:])
	switch {
	case n == 0:
		d.at = len(d.data)
		return 0, d.errorf("set is cut short")
	case n < 0:
		return 0, d.errorf("varint above 64 bits")
	case n > 1 && d.data[d.at+n-1] == 0:
		return 0, d.errorf("varint is not the shortest")
	}
	d.at += n
	return v, nil
}

// errorf returns a DecodeError at the current position.
func (d *setDecoder) errorf(format string, args ...any) error {
	return &DecodeError{Offset: d.at, Reason: fmt.Sprintf(format, args...)}
}
