// SPDX-License-Identifier: Apache-2.0

package payload

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// placedError is an error at a place of the text.
type placedError struct {
	at             int
	payload, field string
	err            error
}

// Error returns the text of the cause.
func (e *placedError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *placedError) Unwrap() error { return e.err }

func at(offset int, format string, args ...any) error {
	return &placedError{at: offset, err: fmt.Errorf(format, args...)}
}

// value is a value of JSON with its place in the text.
type value struct {
	raw []byte
	at  int
}

// trimmed returns the text of the value without space around it.
func (v value) trimmed() []byte { return bytes.TrimSpace(v.raw) }

// text returns a string.
func (v value) text() (s string, err error) {
	if json.Unmarshal(v.raw, &s) != nil || bytes.Equal(v.trimmed(), []byte("null")) {
		return "", at(v.at, "want a text in quotes")
	}
	return s, nil
}

// number returns a whole number.
func (v value) number(least int) (int, error) {
	n, err := strconv.Atoi(string(v.trimmed()))
	if err != nil || n < least || n > mostOffset {
		return 0, at(v.at, "%.20s: want a number from %d to %d", v.trimmed(), least, mostOffset)
	}
	return n, nil
}

// valid reports where a text is no JSON, or not UTF-8.
func valid(text []byte) error {
	for i := 0; i < len(text); { // else what is read is longer than where it stands
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return at(i, "not UTF-8: byte %#x", text[i])
		}
		i += size
	}
	var all json.RawMessage
	err := json.Unmarshal(text, &all)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		if strings.Contains(err.Error(), "unexpected end") {
			return at(len(text), "the text ends early")
		}
		return at(max(int(syntax.Offset)-1, 0), "no JSON: %w", err)
	}
	return err
}

// walker steps through an object or an array.
type walker struct {
	*json.Decoder
	of value
}

// walk begins to step through what is delimited by a pair of brackets.
func walk(v value, open json.Delim, want string) (walker, error) {
	w := walker{json.NewDecoder(bytes.NewReader(v.raw)), v}
	token, err := w.Token()
	if err != nil {
		return w, w.broken(err)
	}
	if token != open {
		return w, at(v.at, "want %s", want)
	}
	return w, nil
}

// broken returns the error for a text that valid has let pass.
func (w walker) broken(err error) error {
	return at(w.of.at+int(w.InputOffset()), "no JSON: %w", err)
}

// next returns the next value.
func (w walker) next() (value, error) {
	var raw json.RawMessage
	if err := w.Decode(&raw); err != nil {
		return value{}, w.broken(err)
	}
	return value{raw, w.of.at + int(w.InputOffset()) - len(raw)}, nil
}

// array returns the elements of an array.
func array(v value) (items []value, err error) {
	w, err := walk(v, '[', "an array in [ ]")
	if err != nil {
		return nil, err
	}
	for w.More() {
		item, err := w.next()
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// object returns the members of an object.
//
//   - names: that they may have.
func object(v value, names ...string) (map[string]value, error) {
	w, err := walk(v, '{', "an object in { }")
	if err != nil {
		return nil, err
	}
	members := make(map[string]value)
	for w.More() {
		key, err := w.Token()
		if err != nil {
			return nil, w.broken(err)
		}
		name, _ := key.(string)
		place := w.of.at + int(w.InputOffset()) - len(name) - 2
		if !slices.Contains(names, name) {
			return nil, at(place, "%q is not known here: want %s", name, strings.Join(names, ", "))
		}
		if _, twice := members[name]; twice {
			return nil, at(place, "%q is there twice", name)
		}
		if members[name], err = w.next(); err != nil {
			return nil, err
		}
	}
	return members, nil
}
