// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
)

// parseFields reads the fields.
func (p *Payload) parseFields(v value, big bool) error {
	items, err := array(v)
	switch {
	case err != nil:
		return err
	case len(items) == 0 || len(items) > mostFields:
		return at(v.at, "%d fields, want 1 to %d", len(items), mostFields)
	}
	names := make(map[string]bool)
	next := 0
	for _, item := range items {
		f := Field{Big: big, Offset: next}
		err := f.parse(item)
		if err == nil && names[f.Name] {
			err = at(item.at, "there are two of this name")
		}
		if wrong := (*placedError)(nil); errors.As(err, &wrong) {
			wrong.field = f.Name
			return err
		}
		names[f.Name] = true
		p.Fields = append(p.Fields, f)
		p.Bytes = max(p.Bytes, f.end())
		next = f.end()
		if f.Count == Rest {
			next = Rest
		}
	}
	p.cover()
	return nil
}

// parse reads a field. Offset is the default, and Rest if there is none.
func (f *Field) parse(v value) error {
	m, err := object(v, "name", "type", "offset", "endian", "count", "bits", "scale", "add", "unit")
	if err != nil {
		return err
	}
	if f.Name, err = parseName(m, v); err != nil {
		return err
	}
	kind, ok := m["type"]
	if !ok {
		return at(v.at, "no type: want %s", strings.Join(typeNames[:], ", "))
	}
	text, err := kind.text()
	if err != nil {
		return err
	}
	i := slices.Index(typeNames[:], text)
	if i < 0 {
		return at(kind.at, "type %q: want %s", text, strings.Join(typeNames[:], ", "))
	}
	f.Type = Type(i)
	if f.Big, err = parseEndian(m, f.Big); err != nil {
		return err
	}
	if offset, ok := m["offset"]; ok {
		if f.Offset, err = offset.number(0); err != nil {
			return err
		}
	}
	if f.Offset == Rest {
		return at(v.at, "no offset, and the field before goes to the end")
	}
	for _, part := range []func(map[string]value) error{f.parseCount, f.parseBits, f.parseScale} {
		if err := part(m); err != nil {
			return err
		}
	}
	if end := int64(f.Offset) + int64(max(f.Count, 0))*int64(f.Type.Bytes()); end > mostOffset {
		return at(v.at, "it ends at byte %d, want at most %d", end, mostOffset)
	}
	if unit, ok := m["unit"]; ok {
		f.Unit, err = unit.text()
	}
	return err
}

func (f *Field) parseCount(m map[string]value) (err error) {
	v, ok := m["count"]
	f.Count, f.Array = 1, ok
	switch {
	case !ok:
	case string(v.trimmed()) == `"rest"`:
		f.Count = Rest
	default:
		f.Count, err = v.number(1)
	}
	return err
}

func (f *Field) parseBits(m map[string]value) error {
	v, ok := m["bits"]
	if !ok {
		return nil
	}
	text, err := v.text()
	if err != nil {
		return err
	}
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	from, err1 := strconv.ParseUint(first, 10, 8)
	to, err2 := strconv.ParseUint(last, 10, 8)
	if most := uint64(8*f.Type.Bytes() - 1); err1 != nil || err2 != nil || from > to || to > most {
		return at(v.at, "bits %q: want FIRST-LAST or BIT, from 0 to %d", text, most)
	}
	if f.Type.IsSigned() || f.Type.IsFloat() {
		return at(v.at, "bits of %v: want a type from u8 to u64", f.Type)
	}
	if f.Shift, f.Bits = uint(from), uint(to-from+1); f.Bits == 64 {
		f.Bits = 0
	}
	return nil
}

func (f *Field) parseScale(m map[string]value) error {
	f.Scale = 1
	for _, part := range []struct {
		name string
		to   *float64
	}{{"scale", &f.Scale}, {"add", &f.Add}} {
		v, ok := m[part.name]
		if !ok {
			continue
		}
		x, err := strconv.ParseFloat(string(v.trimmed()), 64)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			return at(v.at, "%s: want a number", part.name)
		}
		*part.to, f.Scaled = x, true
	}
	return nil
}
