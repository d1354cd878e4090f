// SPDX-License-Identifier: Apache-2.0

package codec

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

// The numbers of the format.
const (
	version       = 1
	plainBody     = 0
	deflatedBody  = 1
	fieldsSection = 1
	tagsSection   = 2
	firstOptional = 128 // kind of the first section that may be passed over
	proofSection  = 255

	compressAbove  = 4 << 10 // bytes of the sections
	maxSectionHead = 1 + binary.MaxVarintLen64
)

// writers and readers keep compressors, which are large, for the next entry.
var (
	writers = sync.Pool{New: func() any {
		w, err := flate.NewWriter(nil, flate.BestSpeed)
		if err != nil { // the level is one that there is
			panic(err)
		}
		return w
	}}
	readers = sync.Pool{New: func() any { return flate.NewReader(nil) }}
)

func appendSection(b []byte, kind byte, data []byte) []byte {
	return append(binary.AppendUvarint(append(b, kind), uint64(len(data))), data...)
}

// pack appends the version and the sections, compressed if that makes them shorter.
func pack(b, body []byte) ([]byte, error) {
	if len(body) > MaxBytes {
		return b, tooLarge(len(body), MaxBytes, "bytes")
	}
	if len(body) > compressAbove {
		out := bytes.NewBuffer(append(b, version, deflatedBody))
		if err := deflate(out, body); err != nil {
			return b, err
		}
		if out.Len()-len(b)-2 < len(body) {
			return out.Bytes(), nil
		}
	}
	return append(append(b, version, plainBody), body...), nil
}

func deflate(out *bytes.Buffer, body []byte) error {
	w := writers.Get().(*flate.Writer)
	defer writers.Put(w)
	w.Reset(out)
	if _, err := w.Write(body); err != nil {
		return err
	}
	return w.Close()
}

// unpack returns the sections of data, of which it may be a part.
func unpack(data []byte) ([]byte, error) {
	if len(data) < 2 {
		return nil, damaged("%d bytes", len(data))
	}
	if data[0] != version {
		return nil, fmt.Errorf("%w: format %d, this program reads %d", ErrVersion, data[0], version)
	}
	body := data[2:]
	switch data[1] {
	case plainBody:
	case deflatedBody:
		var err error
		if body, err = inflate(body); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("%w: compressed by method %d", ErrVersion, data[1])
	}
	if len(body) > MaxBytes {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxBytes)
	}
	return body, nil
}

// inflate returns at most one byte more than MaxBytes.
func inflate(data []byte) ([]byte, error) {
	in := bytes.NewReader(data) // an io.ByteReader, so that no byte behind the end is taken
	r := readers.Get().(io.ReadCloser)
	defer readers.Put(r)
	if err := r.(flate.Resetter).Reset(in, nil); err != nil {
		return nil, damaged("compressed bytes: %v", err)
	}
	body, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	switch {
	case err != nil:
		return nil, damaged("compressed bytes: %v", err)
	case len(body) <= MaxBytes && in.Len() > 0:
		return nil, damaged("%d bytes behind the compressed ones", in.Len())
	}
	return body, nil
}

// sections are those that this program knows.
type sections struct{ fields, tags, proof []byte }

// split finds the sections of body.
func split(body []byte) (s sections, err error) {
	var last byte // kind of the section before
	for len(body) > 0 {
		kind := body[0]
		length, n := binary.Uvarint(body[1:])
		if n <= 0 || length > uint64(len(body)-1-n) {
			return s, damaged("section %d is truncated", kind)
		}
		if kind <= last {
			return s, damaged("section %d follows section %d", kind, last)
		}
		section := body[1+n : 1+n+int(length)]
		body = body[1+n+int(length):]
		last = kind
		switch {
		case kind == fieldsSection:
			s.fields = section
		case kind == tagsSection:
			s.tags = section
		case kind == proofSection:
			s.proof = section
		case kind < firstOptional:
			return s, fmt.Errorf("%w: section %d is needed to read it", ErrVersion, kind)
		}
	}
	if s.fields == nil || s.tags == nil {
		return s, damaged("truncated: the fields or the tags are missing")
	}
	return s, nil
}
