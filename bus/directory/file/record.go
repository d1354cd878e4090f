// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net/netip"
	"strings"
	"time"

	"tagbus/bus/directory"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// The numbers of the format; the package comment draws it.
const (
	formatVersion  = 1
	maxHeaderBytes = 64 << 10 // line of the header, LF included
	tagLineBytes   = 4 << 10  // of text in a tag line, after which the next begins
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record is what one directory file says, except its beat line.
type record struct {
	entry    directory.Entry
	revision uint32
	beat     time.Duration // how often the publisher beats; 0 if it does not say
	process  process
	sum      uint32 // of the end line
}

// header is the first line.
type header struct {
	Format          int              `json:"tagbus_directory"`
	Revision        uint32           `json:"revision"`
	Instance        string           `json:"instance"`
	Name            string           `json:"name"`
	Host            string           `json:"host"`
	PID             int              `json:"pid"`
	Mirror          string           `json:"mirror,omitempty"`
	Role            directory.Role   `json:"role,omitempty"`
	Backend         string           `json:"backend"`
	Addresses       []netip.AddrPort `json:"addresses"`
	Ways            []directory.Way  `json:"ways,omitempty"`
	PageBytes       int              `json:"page_bytes"`
	MaxMessageBytes int              `json:"max_message_bytes"`
	SinceNanos      int64            `json:"since_ns,omitzero"`
	Monitor         netip.AddrPort   `json:"monitor,omitzero"`
	Proof           []byte           `json:"proof,omitempty"`
	WaysProof       []byte           `json:"ways_proof,omitempty"`
	BeatMillis      int64            `json:"beat_ms"`
	Process         process          `json:"process,omitzero"`
}

// tagLine is a line with a part of the tags.
type tagLine struct {
	Tags string `json:"tags"`
}

// encode returns the lines of r up to and with the end line, and sets r.sum.
func (r *record) encode() ([]byte, error) {
	var b bytes.Buffer
	e := r.entry
	lines := 1
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // & is common in tag sets
	if err := encoder.Encode(header{
		Format: formatVersion, Revision: r.revision,
		Instance: e.Instance, Name: e.Name, Host: e.Host, PID: e.PID, Mirror: e.Mirror,
		Role: e.Role, Backend: e.Backend, Addresses: e.Addresses, Ways: e.Ways, PageBytes: e.PageBytes, MaxMessageBytes: e.MaxMessageBytes,
		SinceNanos: sinceNanos(e.Since), Monitor: e.Monitor, Proof: e.Proof, WaysProof: e.WaysProof, BeatMillis: r.beat.Milliseconds(), Process: r.process,
	}); err != nil {
		return nil, err
	}
	for text := e.Tags.String(); text != ""; lines++ {
		part := text
		if len(text) > tagLineBytes {
			if comma := strings.IndexByte(text[tagLineBytes:], ','); comma >= 0 {
				part = text[:tagLineBytes+comma]
			}
		}
		text = strings.TrimPrefix(text[len(part):], ",")
		if err := encoder.Encode(tagLine{part}); err != nil {
			return nil, err
		}
	}
	r.sum = crc32.Checksum(b.Bytes(), castagnoli)
	return appendEnd(b.Bytes(), lines, r.sum), nil
}

// decode reads a whole file. Its memory is bounded by a small multiple of
// len(data) and by maxTagParts.
//
//   - Errors: ErrVersion, ErrTooManyTags or ErrDamaged, wrapped; errTorn if only
//     the beat line is wrong.
func decode(data []byte, maxTagParts int) (*record, uint64, error) {
	first, rest, ok := bytes.Cut(data, []byte("\n"))
	if !ok || len(first) >= maxHeaderBytes {
		return nil, 0, damaged("the first line is not a header")
	}
	var format struct {
		Format int `json:"tagbus_directory"`
	}
	if err := json.Unmarshal(first, &format); err != nil || format.Format < 1 {
		return nil, 0, damaged("the first line is not a header")
	}
	if format.Format != formatVersion { // nothing else can be known of such a file
		return nil, 0, fmt.Errorf("%w %d, this program reads %d", ErrVersion, format.Format, formatVersion)
	}
	if len(rest) < beatBytes || data[len(data)-beatBytes-1] != '\n' {
		return nil, 0, damaged("truncated")
	}
	beat := data[len(data)-beatBytes:]
	body, sum, err := splitEnd(data[:len(data)-beatBytes])
	if err != nil {
		return nil, 0, err
	}
	r := &record{sum: sum}
	if err := r.readHeader(first); err != nil {
		return nil, 0, err
	}
	if err := r.readTags(body[len(first)+1:], maxTagParts); err != nil {
		return nil, 0, err
	}
	if err := r.entry.Validate(); err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	count, err := readBeat(beat, r.revision, sum)
	return r, count, err
}

// readHeader takes over the fields of the first line.
func (r *record) readHeader(line []byte) error {
	var h header
	if err := json.Unmarshal(line, &h); err != nil {
		return damaged("header: %v", err)
	}
	r.entry = directory.Entry{
		Instance: h.Instance, Name: h.Name, Host: h.Host, PID: h.PID, Mirror: h.Mirror,
		Role: h.Role, Backend: h.Backend, Addresses: h.Addresses, Ways: h.Ways, PageBytes: h.PageBytes, MaxMessageBytes: h.MaxMessageBytes, Monitor: h.Monitor, Proof: h.Proof, WaysProof: h.WaysProof,
	}
	if h.SinceNanos != 0 {
		r.entry.Since = time.Unix(0, h.SinceNanos).UTC()
	}
	r.revision, r.process = h.Revision, h.Process
	if h.BeatMillis < 0 || h.BeatMillis > maxBeat.Milliseconds() {
		return damaged("header: beat_ms is %d", h.BeatMillis)
	}
	r.beat = time.Duration(h.BeatMillis) * time.Millisecond
	return nil
}

// sinceNanos returns nanoseconds since 1970, 0 for an unknown time.
func sinceNanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// readTags reads the tag lines. Items are counted before any is parsed: two
// bytes of text can become sixteen of a Set.
func (r *record) readTags(lines []byte, maxParts int) error {
	if parts := bytes.Count(lines, []byte(",")) + bytes.Count(lines, []byte("\n")); parts > maxParts {
		return fmt.Errorf("%w: %d, at most %d are read", ErrTooManyTags, parts, maxParts)
	}
	var sets []tags.Set
	for number := 2; len(lines) > 0; number++ {
		var line []byte
		line, lines, _ = bytes.Cut(lines, []byte("\n"))
		var t tagLine
		if err := json.Unmarshal(line, &t); err != nil {
			return damaged("line %d: %v", number, err)
		}
		set, err := tags.ParseSet(t.Tags)
		if err != nil {
			return damaged("line %d: %v", number, err)
		}
		sets = append(sets, set)
	}
	r.entry.Tags = tags.Union(sets...)
	return nil
}

const endForm = `{"lines":%d,"crc32c":"%08x"}` + "\n"

// appendEnd appends the end line of that many lines with that sum.
func appendEnd(b []byte, lines int, sum uint32) []byte {
	return fmt.Appendf(b, endForm, lines, sum)
}

// splitEnd takes the end line off data and checks it against the lines before.
func splitEnd(data []byte) (body []byte, sum uint32, err error) {
	if len(data) == 0 {
		return nil, 0, damaged("truncated")
	}
	body = data[:bytes.LastIndexByte(data[:len(data)-1], '\n')+1]
	lines := bytes.Count(body, []byte("\n"))
	sum = crc32.Checksum(body, castagnoli)
	if !bytes.Equal(appendEnd(nil, lines, sum), data[len(body):]) {
		return nil, 0, damaged("the end line does not fit the lines before it: truncated or altered")
	}
	return body, sum, nil
}

// damaged returns an error that wraps ErrDamaged. The details of another
// package's error are escaped: they may repeat what a stranger wrote.
func damaged(format string, args ...any) error {
	const shown = 200
	return fmt.Errorf("%w: %s", ErrDamaged, sanitize.Cut(sanitize.Linef(format, args...), shown))
}
