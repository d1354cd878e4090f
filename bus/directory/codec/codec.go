// SPDX-License-Identifier: Apache-2.0

// Package codec answers: what are the bytes of a directory entry, for directories that
// keep entries on servers?
//
//	byte      1, the version of the format
//	byte      1 if what follows is compressed (RFC 1951), else 0
//	sections  each a byte for its kind, its length as a uvarint, and its bytes:
//	          1  all fields except the tags, as an object of JSON
//	          2  the tags, as tags.Set.AppendBinary writes them
//
// A reader passes over sections and fields that it does not know, so that newer programs
// can add some.
package codec

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"tagbus/bus/directory"
	"tagbus/tags"
)

var (
	// ErrDamaged is returned by Decode for bytes that are no entry.
	ErrDamaged = errors.New("codec: not a directory entry, or damaged")

	// ErrVersion is returned by Decode for an entry of a format that it does not know.
	ErrVersion = errors.New("codec: directory entry of an unknown version")

	// ErrTooLarge is returned by Decode for an entry that takes more memory than
	// MaxBytes.
	ErrTooLarge = errors.New("codec: directory entry too large")
)

// MaxBytes is how large an entry may be before it is compressed.
const MaxBytes = 8 << 20

// The numbers of the format.
const (
	version       = 1
	plainBody     = 0
	deflatedBody  = 1
	fieldsSection = 1
	tagsSection   = 2

	compressAbove = 4 << 10 // bytes of the sections
)

// fields are what an entry has, except the tags.
type fields struct {
	Instance        string           `json:"instance"`
	Name            string           `json:"name,omitempty"`
	Host            string           `json:"host,omitempty"`
	PID             int              `json:"pid,omitempty"`
	Mirror          string           `json:"mirror,omitempty"`
	Role            directory.Role   `json:"role,omitempty"`
	Backend         string           `json:"backend"`
	Addresses       []netip.AddrPort `json:"addresses"`
	PageBytes       int              `json:"page_bytes"`
	MaxMessageBytes int              `json:"max_message_bytes"`
	SinceNanos      int64            `json:"since_ns,omitempty"`
	Monitor         netip.AddrPort   `json:"monitor,omitzero"`
}

// Append appends the bytes of e, which must be valid, to b.
//
//   - Errors: ErrTooLarge.
func Append(b []byte, e directory.Entry) ([]byte, error) {
	f := fields{
		e.Instance, e.Name, e.Host, e.PID, e.Mirror, e.Role, e.Backend, e.Addresses,
		e.PageBytes, e.MaxMessageBytes, 0, e.Monitor,
	}
	if !e.Since.IsZero() {
		f.SinceNanos = e.Since.UnixNano()
	}
	text, err := json.Marshal(f)
	if err != nil {
		return b, err
	}
	set, err := e.Tags.AppendBinary(nil)
	if err != nil {
		return b, err
	}
	body := appendSection(appendSection(nil, fieldsSection, text), tagsSection, set)
	if len(body) > MaxBytes {
		return b, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(body), MaxBytes)
	}
	if len(body) <= compressAbove {
		return append(append(b, version, plainBody), body...), nil
	}
	out := bytes.NewBuffer(append(b, version, deflatedBody))
	w, err := flate.NewWriter(out, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(body)
	}
	if err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}

func appendSection(b []byte, kind byte, data []byte) []byte {
	return append(binary.AppendUvarint(append(b, kind), uint64(len(data))), data...)
}

// Decode returns the entry that data is, which shares nothing with it.
//
//   - Errors: ErrDamaged, ErrVersion, ErrTooLarge, wrapped. An entry that
//     directory.Entry.Validate refuses is ErrDamaged, with the *directory.FieldErrors.
func Decode(data []byte) (directory.Entry, error) {
	body, err := unpack(data)
	if err != nil {
		return directory.Entry{}, err
	}
	var f fields
	var set tags.Set
	for len(body) > 0 {
		kind := body[0]
		length, n := binary.Uvarint(body[1:])
		if n <= 0 || length > uint64(len(body)-1-n) {
			return directory.Entry{}, fmt.Errorf("%w: truncated", ErrDamaged)
		}
		section := body[1+n : 1+n+int(length)]
		body = body[1+n+int(length):]
		switch kind {
		case fieldsSection:
			err = json.Unmarshal(section, &f)
		case tagsSection:
			err = set.UnmarshalBinary(section)
		}
		if err != nil {
			return directory.Entry{}, fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	e := directory.Entry{
		Instance: f.Instance, Name: f.Name, Host: f.Host, PID: f.PID, Mirror: f.Mirror, Role: f.Role, Backend: f.Backend,
		Addresses: f.Addresses, Tags: set, PageBytes: f.PageBytes, MaxMessageBytes: f.MaxMessageBytes, Monitor: f.Monitor,
	}
	if f.SinceNanos != 0 {
		e.Since = time.Unix(0, f.SinceNanos).UTC()
	}
	if err := e.Validate(); err != nil {
		return directory.Entry{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return e, nil
}

// unpack returns the sections of data.
func unpack(data []byte) ([]byte, error) {
	if len(data) < 2 {
		return nil, fmt.Errorf("%w: %d bytes", ErrDamaged, len(data))
	}
	if data[0] != version {
		return nil, fmt.Errorf("%w: %d, this program reads %d", ErrVersion, data[0], version)
	}
	switch data[1] {
	case plainBody:
		return data[2:], nil
	case deflatedBody:
	default:
		return nil, fmt.Errorf("%w: compressed by an unknown method, %d", ErrDamaged, data[1])
	}
	body, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data[2:])), MaxBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	case len(body) > MaxBytes:
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxBytes)
	}
	return body, nil
}
