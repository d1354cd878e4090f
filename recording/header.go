// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"time"

	"tagbus/tags"
)

// The version of the format that this package writes. It reads every minor version of
// its major one.
const (
	Major = 1
	Minor = 0
)

// ID names a recording. All parts of it have the same.
type ID [16]byte

// NewID returns a random ID.
func NewID() (id ID) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}

// String returns the id in hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// Header is what the beginning of a file says of the recording. The zero value is good
// for writing: ID and Created are filled in.
type Header struct {
	ID      ID
	Part    uint32    // from 0: the number of the file within its recording
	Created time.Time // of this part
	Host    string    // of the recorder
	Name    string    // of the recorder, chosen by its user
	Version string    // of the recorder's program, for people
	Tags    tags.Set  // that were asked for
	Policy  string    // that was asked for: the text form of a bus.Policy
}

// Kinds of the fields of a header.
const (
	fieldCreated = iota + 1
	fieldHost
	fieldName
	fieldVersion
	fieldTags
	fieldPolicy
)

const (
	magic           = "\x8aTBR\r\n\x1a\n"
	headerBytes     = 44       // before the fields
	mostHeaderBytes = 16 << 20 // of fields
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is a CRC-32C that goes on from another one.
func checksum(seed uint32, b []byte) uint32 { return crc32.Update(seed, castagnoli, b) }

// seed is the checksum from which those of a part go on. So a block of another recording, or
// of another part, has a wrong one.
func (h *Header) seed() uint32 {
	return checksum(checksum(0, h.ID[:]), binary.LittleEndian.AppendUint32(nil, h.Part))
}

// append appends the bytes of the header.
func (h *Header) append(b []byte) []byte {
	le := binary.LittleEndian
	fields := h.appendFields(nil)
	begin := len(b)
	b = append(b, magic...)
	b = append(b, Major, Minor, 0, 0)
	b = append(b, h.ID[:]...)
	b = le.AppendUint32(b, h.Part)
	b = le.AppendUint32(b, uint32(len(fields)))
	b = le.AppendUint32(b, checksum(0, fields))
	b = le.AppendUint32(b, checksum(0, b[begin:]))
	return append(b, fields...)
}

// appendFields appends the fields that are not empty.
func (h *Header) appendFields(b []byte) []byte {
	field := func(kind uint64, data string) {
		if data != "" {
			b = appendText(binary.AppendUvarint(b, kind), data)
		}
	}
	if !h.Created.IsZero() {
		field(fieldCreated, string(binary.LittleEndian.AppendUint64(nil, uint64(h.Created.UnixNano()))))
	}
	field(fieldHost, h.Host)
	field(fieldName, h.Name)
	field(fieldVersion, h.Version)
	if !h.Tags.IsEmpty() {
		set, _ := h.Tags.AppendBinary(nil) // it never fails
		field(fieldTags, string(set))
	}
	field(fieldPolicy, h.Policy)
	return b
}

// fixedHeader is what the beginning of a file says of its fields.
type fixedHeader struct {
	fields   int // bytes
	checksum uint32
}

// readFixed reads the first headerBytes of a file.
//
// Errors: ErrNotRecording, wrapped with what it is instead; ErrVersion, wrapped with the version; ErrChecksum; ErrMalformed.
func (h *Header) readFixed(b []byte) (f fixedHeader, err error) {
	le := binary.LittleEndian
	b = b[:headerBytes]
	switch {
	case !bytes.HasPrefix(b, []byte(magic)):
		return f, notRecording(b)
	case b[8] != Major:
		return f, fmt.Errorf("version %d.%d instead of %d.%d: %w", b[8], b[9], Major, Minor, ErrVersion)
	case le.Uint32(b[40:]) != checksum(0, b[:40]):
		return f, ErrChecksum
	}
	copy(h.ID[:], b[12:])
	h.Part = le.Uint32(b[28:])
	n := le.Uint32(b[32:])
	if n > mostHeaderBytes {
		return f, malformed("%d bytes of fields, want at most %d", n, mostHeaderBytes)
	}
	return fixedHeader{fields: int(n), checksum: le.Uint32(b[36:])}, nil
}

// readFields reads the fields. Those of an unknown kind are skipped.
//
// Errors: ErrMalformed.
func (h *Header) readFields(b []byte) error {
	d := decoder{b: b}
	for len(d.b) > 0 {
		kind := d.uvarint()
		data := d.bytes(d.uvarint())
		if d.bad {
			return malformed("a field goes beyond the end")
		}
		switch kind {
		case fieldCreated:
			if len(data) != 8 {
				return malformed("the time of creation has %d bytes, want 8", len(data))
			}
			h.Created = timeOf(int64(binary.LittleEndian.Uint64(data)))
		case fieldHost:
			h.Host = string(data)
		case fieldName:
			h.Name = string(data)
		case fieldVersion:
			h.Version = string(data)
		case fieldTags:
			if err := h.Tags.UnmarshalBinary(data); err != nil {
				return malformed("the tags: %v", err)
			}
		case fieldPolicy:
			h.Policy = string(data)
		}
	}
	return nil
}

// timeOf returns a time of a file: nanoseconds since 1970.
func timeOf(ns int64) time.Time { return time.Unix(0, ns) }
