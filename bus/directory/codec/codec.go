// SPDX-License-Identifier: Apache-2.0

// Package codec writes and reads the bytes of directory entries, for directories that
// keep entries on servers.
//
//	byte      1, the version of the format
//	byte      1 if what follows is compressed (RFC 1951), else 0
//	sections  each a byte for its kind, its length as a uvarint, and its bytes:
//	          1  all fields except the tags, as an object of JSON
//	          2  the tags, as tags.Set.AppendBinary writes them
//	          255  the proof, as it is, if there is one
//
// The sections stand in ascending order of their kinds, each at most once, and 1 and 2 are
// there. Nothing follows them, or the end of the compressed bytes.
//
// # What newer programs may add
//
// A reader passes over fields of section 1 that it does not know, and over unknown sections
// of kind 128 and above. It refuses an entry with an unknown section below 128, which is
// one without which the entry is misread. So a field or a section that only adds something
// needs no new version.
//
// The proof that shows which process announced the entry (Entry.Proof, package signed) is such
// a section, of the highest kind: what it signs is what the entry says, however that is
// written, so a copy in another directory keeps it. A program that knows nothing of proofs
// reads the entry as before; one that demands them refuses an entry without.
//
// # What it costs
//
// An entry as a file of bus/directory/file and by this package, the least of three runs on
// a machine of two cores. The tags are scattered, as no two are neighbours. The regular
// ones are those of links with 4,096 numbers each, a thousandth of them missing; the random
// ones lie anywhere within 2^40:
//
//	                               bytes  to write  to read
//	100 tags, text                 2,270      7 µs    25 µs
//	100 tags, codec                  426    1.6 µs   3.8 µs
//	100,000 regular, text      1,905,454    7.4 ms    17 ms
//	100,000 regular, codec         1,708    0.6 ms   1.3 ms
//	100,000 random, text       1,905,454    7.2 ms    19 ms
//	100,000 random, codec        393,973    2.8 ms   4.3 ms
//
//	go test -run '^$' -bench Form ./bus/directory/file
package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"tagbus/bus/directory"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

var (
	// ErrDamaged is returned by Decode for bytes that are no entry.
	ErrDamaged = errors.New("codec: not a directory entry, or damaged")

	// ErrVersion is returned by Decode for an entry of a format that it does not know, or
	// with a section that it would have to know.
	ErrVersion = errors.New("codec: directory entry of a newer program")

	// ErrTooLarge is returned by Append and Decode for an entry beyond MaxBytes,
	// MaxFieldBytes or MaxTagParts.
	ErrTooLarge = errors.New("codec: directory entry too large")
)

// Limits of an entry, for Append and Decode alike. They bound the memory that the entry of
// a stranger takes, however well it is compressed.
const (
	MaxBytes      = 8 << 20  // of all sections, before compression
	MaxFieldBytes = 64 << 10 // of the fields other than the tags
	MaxTagParts   = 1 << 18  // ranges and patterns of the tags together
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
	Ways            []directory.Way  `json:"ways,omitempty"`
	WaysProof       []byte           `json:"ways_proof,omitempty"`
	PageBytes       int              `json:"page_bytes"`
	MaxMessageBytes int              `json:"max_message_bytes"`
	SinceNanos      int64            `json:"since_ns,omitempty"`
	Monitor         netip.AddrPort   `json:"monitor,omitzero"`
}

// Append appends the bytes of e, which must be valid, to b.
//
//   - Errors: ErrTooLarge, wrapped; b is then returned as it was.
//   - Threads: any.
func Append(b []byte, e directory.Entry) ([]byte, error) {
	f := fields{
		e.Instance, e.Name, e.Host, e.PID, e.Mirror, e.Role, e.Backend, e.Addresses, e.Ways, e.WaysProof,
		e.PageBytes, e.MaxMessageBytes, 0, e.Monitor,
	}
	if !e.Since.IsZero() {
		f.SinceNanos = e.Since.UnixNano()
	}
	text, err := json.Marshal(f)
	if err != nil {
		return b, err
	}
	if parts := e.Tags.Parts(); parts > MaxTagParts {
		return b, tooManyTags(parts)
	}
	set, err := e.Tags.AppendBinary(nil)
	if err != nil {
		return b, err
	}
	if len(text) > MaxFieldBytes {
		return b, tooLarge(len(text), MaxFieldBytes, "bytes of fields")
	}
	body := make([]byte, 0, len(text)+len(set)+len(e.Proof)+3*maxSectionHead)
	body = appendSection(appendSection(body, fieldsSection, text), tagsSection, set)
	if len(e.Proof) > 0 {
		body = appendSection(body, proofSection, e.Proof)
	}
	return pack(b, body)
}

// Decode returns the entry that data is, which shares nothing with it.
//
//   - Errors: ErrDamaged, ErrVersion, ErrTooLarge, wrapped. An entry that
//     directory.Entry.Validate refuses is ErrDamaged, with the *directory.FieldErrors.
//   - Threads: any.
func Decode(data []byte) (directory.Entry, error) {
	body, err := unpack(data)
	if err != nil {
		return directory.Entry{}, err
	}
	s, err := split(body)
	if err != nil {
		return directory.Entry{}, err
	}
	e, err := readFields(s.fields)
	if err != nil {
		return directory.Entry{}, err
	}
	if e.Tags, err = readTags(s.tags); err != nil {
		return directory.Entry{}, err
	}
	e.Proof = bytes.Clone(s.proof)
	if err := e.Validate(); err != nil {
		return directory.Entry{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return e, nil
}

// readFields returns an entry without tags.
func readFields(section []byte) (directory.Entry, error) {
	if len(section) > MaxFieldBytes {
		return directory.Entry{}, tooLarge(len(section), MaxFieldBytes, "bytes of fields")
	}
	var f fields
	if err := json.Unmarshal(section, &f); err != nil {
		return directory.Entry{}, damaged("fields: %v", err)
	}
	e := directory.Entry{
		Instance: f.Instance, Name: f.Name, Host: f.Host, PID: f.PID, Mirror: f.Mirror, Role: f.Role, Backend: f.Backend,
		Addresses: f.Addresses, Ways: f.Ways, WaysProof: f.WaysProof, PageBytes: f.PageBytes, MaxMessageBytes: f.MaxMessageBytes, Monitor: f.Monitor,
	}
	if f.SinceNanos != 0 {
		e.Since = time.Unix(0, f.SinceNanos).UTC()
	}
	return e, nil
}

func readTags(section []byte) (set tags.Set, err error) {
	switch err := set.UnmarshalLimited(section, MaxTagParts, MaxTagParts); {
	case errors.Is(err, tags.ErrTooManyParts):
		return set, fmt.Errorf("%w: %w", ErrTooLarge, err)
	case err != nil:
		return set, damaged("tags: %v", err)
	}
	if parts := set.Parts(); parts > MaxTagParts {
		return set, tooManyTags(parts)
	}
	return set, nil
}

func tooManyTags(parts int) error {
	return tooLarge(parts, MaxTagParts, "ranges and patterns of tags; announce ranges or patterns instead of single tags")
}

func tooLarge(n, most int, what string) error {
	return fmt.Errorf("%w: %d of at most %d %s", ErrTooLarge, n, most, what)
}

// damaged returns an error that wraps ErrDamaged. The details of another package's error
// are escaped: they may repeat what a stranger wrote.
func damaged(format string, args ...any) error {
	const shown = 200
	return fmt.Errorf("%w: %s", ErrDamaged, sanitize.Cut(sanitize.Linef(format, args...), shown))
}
