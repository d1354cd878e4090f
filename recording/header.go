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
	headerBytes     = 40       // before the fields
	mostHeaderBytes = 16 << 20 // of fields
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seed is the checksum with which those of the blocks of a part begin: a block of another
// recording, or of another part, has a wrong one.
func (h *Header) seed() uint32 {
	return crc32.Update(0, castagnoli, binary.LittleEndian.AppendUint32(h.ID[:len(h.ID):len(h.ID)], h.Part))
}

// append appends the bytes of the header.
func (h *Header) append(b []byte) []byte {
	begin := len(b)
	b = append(b, magic...)
	b = append(b, Major, Minor, 0, 0)
	b = append(b, 0, 0, 0, 0) // checksum
	b = append(b, h.ID[:]...)
	b = binary.LittleEndian.AppendUint32(b, h.Part)
	b = append(b, 0, 0, 0, 0) // bytes of the fields
	fields := len(b)
	field := func(kind uint64, data []byte) {
		if len(data) > 0 {
			b = binary.AppendUvarint(b, kind)
			b = append(binary.AppendUvarint(b, uint64(len(data))), data...)
		}
	}
	field(fieldCreated, binary.LittleEndian.AppendUint64(nil, uint64(h.Created.UnixNano())))
	field(fieldHost, []byte(h.Host))
	field(fieldName, []byte(h.Name))
	field(fieldVersion, []byte(h.Version))
	if !h.Tags.IsEmpty() {
		set, _ := h.Tags.AppendBinary(nil) // it never fails
		field(fieldTags, set)
	}
	field(fieldPolicy, []byte(h.Policy))
	binary.LittleEndian.PutUint32(b[begin+36:], uint32(len(b)-fields))
	binary.LittleEndian.PutUint32(b[begin+12:], checksum(0, b[begin+16:]))
	return b
}

func checksum(seed uint32, b []byte) uint32 { return crc32.Update(seed, castagnoli, b) }

// fixedHeader is the part of the header before its fields.
type fixedHeader struct {
	minor    byte
	checksum uint32
	fields   int // bytes
}

// readFixed reads the first headerBytes bytes of a file.
//
// Errors: ErrNotRecording; ErrVersion, wrapped with the version; ErrMalformed.
func (h *Header) readFixed(b []byte) (f fixedHeader, err error) {
	if !bytes.HasPrefix(b, []byte(magic)) {
		return f, ErrNotRecording
	}
	if b[8] != Major {
		return f, fmt.Errorf("version %d.%d, want %d: %w", b[8], b[9], Major, ErrVersion)
	}
	f.minor = b[9]
	f.checksum = binary.LittleEndian.Uint32(b[12:])
	copy(h.ID[:], b[16:])
	h.Part = binary.LittleEndian.Uint32(b[32:])
	n := binary.LittleEndian.Uint32(b[36:])
	if n > mostHeaderBytes {
		return f, malformed("%d bytes of fields, want at most %d", n, mostHeaderBytes)
	}
	f.fields = int(n)
	return f, nil
}

// readFields reads the fields. Those of an unknown kind are skipped.
//
// Errors: ErrMalformed.
func (h *Header) readFields(b []byte) error {
	d := decoder{b: b}
	for len(d.b) > 0 {
		kind, data := d.uvarint(), d.bytes(d.uvarint())
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
