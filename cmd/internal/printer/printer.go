// SPDX-License-Identifier: Apache-2.0

// Package printer prints messages, each in a line that is safe to show.
package printer

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/record"
	"tagbus/internal/payload"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// Kind is how messages are printed. The zero value is none.
type Kind int

// What the names of kinds mean.
const (
	None Kind = iota
	Hex
	Text
	JSON
)

// UnmarshalText reads hex, text, json or none.
func (k *Kind) UnmarshalText(text []byte) error {
	for kind, name := range []string{None: "none", Hex: "hex", Text: "text", JSON: "json"} {
		if string(text) == name {
			*k = Kind(kind)
			return nil
		}
	}
	return fmt.Errorf("got %q, want hex, text, json or none", text)
}

// Prints reports whether messages are printed at all.
func (k Kind) Prints() bool { return k != None }

// TimeFormat is RFC 3339 with nanoseconds, always as long.
const TimeFormat = "2006-01-02T15:04:05.000000000Z07:00"

// Printer prints messages, each in a line that is safe to show:
//
//	TAG COUNTER STATUS TIME DELTA SIZE: DATA
//	TAG COUNTER STATUS TIME DELTA SIZE (link type N, TIME, LENGTH bytes): DATA
//	{"tag":..., ...}
//
// The second is that of a packet that comes from a capture, and says what the capture
// knows of it. TIME and DELTA are there if the columns say so; the object always has the
// time.
//
// Threads: one at a time.
type Printer struct {
	Kind     Kind
	To       io.Writer
	Time     bool // with the time of arrival
	Delta    bool // with the time since the message before, of the same tag
	TagsOnly bool // TAG TIME DELTA, or the object without its data

	Payloads payload.Set // describe fields, which the object has beside the data

	line []byte // made again for each message
}

// Payloads loads the file of --payloads, which is for JSON alone; nil: none is named.
//
//   - Errors: a *cli.UsageError.
func Payloads(path string, k Kind) (payload.Set, error) {
	if path == "" {
		return nil, nil
	}
	if k != JSON {
		return nil, &cli.UsageError{Err: errors.New("--payloads is for messages that are printed as JSON")}
	}
	set, err := payload.Load(path)
	if err != nil {
		return nil, &cli.UsageError{Err: fmt.Errorf("--payloads: %w", err)}
	}
	return set, nil
}

// Line is a message and what is known of it.
type Line struct {
	bus.Message
	Packet record.Packet // what is left of the message without a record header
	At     time.Time     // when it arrived
	Delta  time.Duration // since the one before of its tag; less than zero: not known
	File   string        // where its data is; "": it is printed
}

// printed is a message as --print json prints it. docs/reference.md explains the fields.
type printed struct {
	Tag       tags.Tag        `json:"tag"`
	Counter   uint64          `json:"counter"`
	Status    bus.Status      `json:"status"`
	Time      string          `json:"time"`
	Delta     *float64        `json:"delta_seconds,omitempty"`
	Publisher string          `json:"publisher,omitempty"`
	Packet    *printedPacket  `json:"packet,omitempty"`
	Size      int             `json:"size"`
	Data      *string         `json:"data,omitempty"`
	Base64    []byte          `json:"base64,omitempty"`
	Fields    json.RawMessage `json:"fields,omitempty"`
	File      string          `json:"file,omitempty"`
}

// printedPacket is what a capture says of a packet.
type printedPacket struct {
	LinkType record.LinkType `json:"link_type"`
	Time     string          `json:"time"`
	Length   uint32          `json:"original_length"`
}

// Print prints a message.
//
//   - Errors: those of the underlying writer.
func (p *Printer) Print(l Line) error {
	if p.Kind == JSON {
		return cli.WriteJSON(p.To, p.object(l))
	}
	b, _ := l.Tag.AppendText(p.line[:0])
	if !p.TagsOnly {
		b = append(b, ' ')
		b = strconv.AppendUint(b, l.Counter, 10)
		b = append(b, ' ')
		b = strconv.AppendUint(b, uint64(l.Status), 10)
	}
	if p.Time {
		b = append(b, ' ')
		b = l.At.UTC().AppendFormat(b, TimeFormat)
	}
	if p.Delta {
		b = appendDelta(b, l.Delta)
	}
	if !p.TagsOnly {
		b = p.appendData(b, l)
	}
	p.line = append(b, '\n')
	_, err := p.To.Write(p.line)
	return err
}

// appendDelta appends a time in seconds, or "-" if it is not known.
func appendDelta(b []byte, d time.Duration) []byte {
	if d < 0 {
		return append(b, " -"...)
	}
	return fmt.Appendf(b, " +%d.%09d", d/time.Second, d%time.Second)
}

// appendData appends the size and the data, or where that is.
func (p *Printer) appendData(b []byte, l Line) []byte {
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(len(l.Packet.Data)), 10)
	if l.Packet.Known {
		b = fmt.Appendf(b, " (link type %d, %s, %d bytes)", l.Packet.LinkType, l.Packet.Time.UTC().Format(TimeFormat), l.Packet.Length)
	}
	b = append(b, ':', ' ')
	switch {
	case l.File != "":
		return append(b, l.File...)
	case p.Kind == Hex:
		return hex.AppendEncode(b, l.Packet.Data)
	default:
		return append(b, sanitize.Text(string(l.Packet.Data))...)
	}
}

func (p *Printer) object(l Line) printed {
	line := printed{Tag: l.Tag, Counter: l.Counter, Status: l.Status, Time: l.At.UTC().Format(TimeFormat), Size: len(l.Packet.Data), File: l.File}
	if p.Delta && l.Delta >= 0 {
		seconds := l.Delta.Seconds()
		line.Delta = &seconds
	}
	if l.Publisher != nil {
		line.Publisher = l.Publisher.Instance
	}
	if l.Packet.Known {
		line.Packet = &printedPacket{l.Packet.LinkType, l.Packet.Time.UTC().Format(TimeFormat), l.Packet.Length}
	}
	if of := p.Payloads.Of(l.Tag); of != nil && !p.TagsOnly && of.Check(l.Packet.Data) == nil {
		line.Fields = of.AppendJSON(nil, l.Packet.Data)
	}
	switch {
	case p.TagsOnly || l.File != "":
	case utf8.Valid(l.Packet.Data):
		text := string(l.Packet.Data)
		line.Data = &text
	default:
		line.Base64 = l.Packet.Data
	}
	return line
}
