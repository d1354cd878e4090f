// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/record"
	"tagbus/internal/plain"
	"tagbus/tags"
)

// Print is how messages are printed. The zero value is none.
type Print int

// What the names of --print mean.
const (
	PrintNone Print = iota
	PrintHex
	PrintText
	PrintJSON
)

// UnmarshalText reads hex, text, json or none.
func (p *Print) UnmarshalText(text []byte) error {
	for kind, name := range []string{PrintNone: "none", PrintHex: "hex", PrintText: "text", PrintJSON: "json"} {
		if string(text) == name {
			*p = Print(kind)
			return nil
		}
	}
	return fmt.Errorf("got %q, want hex, text, json or none", text)
}

// prints reports whether messages are printed at all.
func (p Print) prints() bool { return p != PrintNone }

// timeFormat is RFC 3339 with nanoseconds, always as long.
const timeFormat = "2006-01-02T15:04:05.000000000Z07:00"

// printer prints messages, each in a line that is safe to show:
//
//	TAG COUNTER STATUS TIME SIZE: DATA
//	TAG COUNTER STATUS TIME SIZE (link type N, TIME, LENGTH bytes): DATA
//	{"tag":..., ...}
//
// The second is that of a packet that comes from a capture, and says what the capture
// knows of it.
//
// Threads: one at a time.
type printer struct {
	kind Print
	to   io.Writer
	line []byte // made anew for each message
}

// printed is a message as --print json prints it. docs/operations.md explains the fields.
type printed struct {
	Tag       tags.Tag       `json:"tag"`
	Counter   uint64         `json:"counter"`
	Status    bus.Status     `json:"status"`
	Time      string         `json:"time"`
	Publisher string         `json:"publisher,omitempty"`
	Packet    *printedPacket `json:"packet,omitempty"`
	Size      int            `json:"size"`
	Data      *string        `json:"data,omitempty"`
	Base64    []byte         `json:"base64,omitempty"`
}

// printedPacket is what a capture says of a packet.
type printedPacket struct {
	LinkType record.LinkType `json:"link_type"`
	Time     string          `json:"time"`
	Length   uint32          `json:"original_length"`
}

// print prints a message, of which the packet is what is left without a record header.
//
//   - Errors: those of the underlying writer.
func (p *printer) print(m bus.Message, packet record.Packet) error {
	now := time.Now().UTC()
	if p.kind == PrintJSON {
		line, err := cli.JSONLine(printedOf(m, packet, now))
		if err != nil {
			return err
		}
		_, err = io.WriteString(p.to, line)
		return err
	}
	b, _ := m.Tag.AppendText(p.line[:0])
	b = append(b, ' ')
	b = strconv.AppendUint(b, m.Counter, 10)
	b = append(b, ' ')
	b = strconv.AppendUint(b, uint64(m.Status), 10)
	b = append(b, ' ')
	b = now.AppendFormat(b, timeFormat)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(len(packet.Data)), 10)
	if packet.Known {
		b = fmt.Appendf(b, " (link type %d, %s, %d bytes)", packet.LinkType, packet.Time.UTC().Format(timeFormat), packet.Length)
	}
	b = append(b, ':', ' ')
	if p.kind == PrintHex {
		b = hex.AppendEncode(b, packet.Data)
	} else {
		b = append(b, plain.Text(string(packet.Data))...)
	}
	p.line = append(b, '\n')
	_, err := p.to.Write(p.line)
	return err
}

func printedOf(m bus.Message, packet record.Packet, now time.Time) printed {
	line := printed{Tag: m.Tag, Counter: m.Counter, Status: m.Status, Time: now.Format(timeFormat), Size: len(packet.Data)}
	if m.Publisher != nil {
		line.Publisher = m.Publisher.Instance
	}
	if packet.Known {
		line.Packet = &printedPacket{packet.LinkType, packet.Time.UTC().Format(timeFormat), packet.Length}
	}
	if utf8.Valid(packet.Data) {
		text := string(packet.Data)
		line.Data = &text
	} else {
		line.Base64 = packet.Data
	}
	return line
}
