// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
	"tagbus/tags"
)

// Bounds of a file, which is written by hand.
const (
	mostBytes    = 1 << 20
	mostPayloads = 256
	mostFields   = 1024
	mostOffset   = 1 << 30 // and count
)

// ErrInvalid is wrapped by each error of a description.
var ErrInvalid = errors.New("description of payloads is wrong")

// Error says what is wrong with a description, and where.
type Error struct {
	File         string
	Line, Column int    // from 1, in bytes
	Payload      string // its name; "": not known
	Field        string // its name; "": none
	Err          error
}

// Error names the file, the place, the payload and the field.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s:%d:%d: ", e.File, e.Line, e.Column)
	if e.Payload != "" {
		text += fmt.Sprintf("payload %q: ", e.Payload)
	}
	if e.Field != "" {
		text += fmt.Sprintf("field %q: ", e.Field)
	}
	return sanitize.Linef("%v: %s%v", ErrInvalid, text, e.Err)
}

// Unwrap returns ErrInvalid and the cause.
func (e *Error) Unwrap() []error { return []error{ErrInvalid, e.Err} }

// Set are the payloads of a file. No tag has two.
type Set []*Payload

// Of returns the payload of a tag; nil: there is none.
func (s Set) Of(tag tags.Tag) *Payload {
	for _, p := range s {
		if p.Tags.Contains(tag) {
			return p
		}
	}
	return nil
}

// Load reads a file.
//
//   - Errors: those of reading it; an *Error.
func Load(path string) (Set, error) {
	f, err := stuck.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Parse reads the text of a file.
//
//   - Errors: an *Error.
func Parse(file string, text []byte) (set Set, err error) {
	if len(text) > mostBytes {
		return nil, &Error{File: file, Line: 1, Column: 1, Err: fmt.Errorf("more than %d bytes", mostBytes)}
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // the mark of some editors
	defer func() {
		if wrong := (*placedError)(nil); errors.As(err, &wrong) {
			before := text[:min(max(wrong.at, 0), len(text))]
			line := bytes.Count(before, []byte{'\n'}) + 1
			set, err = nil, &Error{
				File: file, Line: line, Column: len(before) - bytes.LastIndexByte(before, '\n'),
				Payload: wrong.payload, Field: wrong.field, Err: wrong.err,
			}
		}
	}()
	if err := valid(text); err != nil {
		return nil, err
	}
	root, err := object(value{text, 0}, "payloads")
	if err != nil {
		return nil, err
	}
	list, ok := root["payloads"]
	if !ok {
		return nil, at(0, "no payloads: want {\"payloads\": [...]}")
	}
	items, err := array(list)
	if err != nil {
		return nil, err
	}
	if len(items) > mostPayloads {
		return nil, at(list.at, "%d payloads, want at most %d", len(items), mostPayloads)
	}
	for _, item := range items {
		p, where, err := parsePayload(item)
		if err != nil {
			if wrong := (*placedError)(nil); p != nil && errors.As(err, &wrong) {
				wrong.payload = p.Name
			}
			return nil, err
		}
		for _, o := range set {
			if err := apart(o, p); err != nil {
				return nil, &placedError{at: where, payload: p.Name, err: err}
			}
		}
		set = append(set, p)
	}
	return set, nil
}

// apart reports what two payloads must not have in common.
func apart(a, b *Payload) error {
	if a.Name == b.Name {
		return errors.New("there are two of this name")
	}
	if both, err := a.Tags.Intersection(b.Tags); err != nil || !both.IsEmpty() {
		text, _ := both.Short(60)
		return fmt.Errorf("payload %q has the same tags: %s", a.Name, text)
	}
	return nil
}

var name = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// parseName reads the name of a payload or a field.
func parseName(m map[string]value, of value) (string, error) {
	v, ok := m["name"]
	if !ok {
		return "", at(of.at, "no name")
	}
	text, err := v.text()
	if err != nil {
		return "", err
	}
	if !name.MatchString(text) || strings.HasPrefix(text, "tagbus_") {
		return "", at(v.at, "name %q: want letters, digits and _, at most 128, no digit first, and not tagbus_ in front", text)
	}
	return text, nil
}

// parsePayload reads a payload, and returns where its tags stand. It returns the payload with
// an error, too, once it has a name.
func parsePayload(v value) (p *Payload, tagsAt int, err error) {
	m, err := object(v, "name", "tags", "endian", "fields")
	if err != nil {
		return nil, 0, err
	}
	p = new(Payload)
	if p.Name, err = parseName(m, v); err != nil {
		return nil, 0, err
	}
	list, ok := m["tags"]
	if !ok {
		return p, 0, at(v.at, "no tags")
	}
	text, err := list.text()
	if err != nil {
		return p, 0, err
	}
	if p.Tags, err = tags.ParseSet(text); err != nil || p.Tags.IsEmpty() {
		return p, 0, at(list.at, "tags %q: %v", text, cmpErr(err, "no tag"))
	}
	big, err := parseEndian(m, false)
	if err != nil {
		return p, 0, err
	}
	fields, ok := m["fields"]
	if !ok {
		return p, 0, at(v.at, "no fields")
	}
	return p, list.at, p.parseFields(fields, big)
}

// cmpErr returns an error, or an error of a text for none.
func cmpErr(err error, none string) error {
	if err == nil {
		return errors.New(none)
	}
	return err
}

func parseEndian(m map[string]value, big bool) (bool, error) {
	v, ok := m["endian"]
	if !ok {
		return big, nil
	}
	text, err := v.text()
	switch {
	case err != nil:
		return false, err
	case text != "little" && text != "big":
		return false, at(v.at, "endian %q: want little or big", text)
	}
	return text == "big", nil
}
