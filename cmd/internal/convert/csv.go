// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/printer"
	"tagbus/internal/sanitize"
	"tagbus/recording"
)

// Data is how a CSV file has the data of messages.
type Data int

// What the names mean.
const (
	Hex  Data = iota // two digits a byte
	Text             // the bytes as they are
)

// UnmarshalText reads hex or text.
func (d *Data) UnmarshalText(text []byte) error {
	switch string(text) {
	case "hex":
		*d = Hex
	case "text":
		*d = Text
	default:
		return fmt.Errorf("got %q, want hex or text", text)
	}
	return nil
}

// csvTitles are the columns. A gap has how many messages are missing as its count.
const csvTitles = "time,kind,tag,publisher,instance,counter,status,length,data,count,cause,text\r\n"

// csvSink writes a row for each message and event, as RFC 4180 has it.
type csvSink struct {
	w       io.Writer
	data    Data
	row     []byte
	tag     []byte // of the row
	numbers numbers
	cells   [][]byte // publisher and instance, by number
	begun   bool
}

func newCSVSink(w io.Writer, data Data) *csvSink { return &csvSink{w: w, data: data} }

// begin begins a row with what all kinds have: up to the instance.
func (s *csvSink) begin(at time.Time, kind string, tag []byte, p *bus.Peer) {
	s.row = s.row[:0]
	if !s.begun {
		s.begun = true
		s.row = append(s.row, csvTitles...)
	}
	s.row = at.UTC().AppendFormat(s.row, printer.TimeFormat)
	s.row = append(s.row, ',')
	s.row = append(s.row, kind...)
	s.row = append(s.row, ',')
	s.row = append(s.row, tag...)
	s.row = append(s.row, ',')
	number, isNew := s.numbers.of(p)
	if isNew {
		cell := append(appendCell(nil, []byte(shown(p))), ',')
		if p != nil {
			cell = appendCell(cell, []byte(sanitize.Cut(sanitize.Line(p.Instance), mostText))) // it is in each row
		}
		s.cells = append(s.cells, cell)
	}
	s.row = append(s.row, s.cells[number]...)
	s.row = append(s.row, ',')
}

func (s *csvSink) message(m *recording.Message) error {
	s.tag, _ = m.Tag.AppendText(s.tag[:0])
	s.begin(m.Time, "message", s.tag, m.Publisher)
	s.row = strconv.AppendUint(s.row, m.Counter, 10)
	s.row = append(s.row, ',')
	s.row = strconv.AppendUint(s.row, uint64(m.Status), 10)
	s.row = append(s.row, ',')
	s.row = strconv.AppendInt(s.row, int64(len(m.Data)), 10)
	s.row = append(s.row, ',')
	if s.data == Text {
		s.row = appendCell(s.row, m.Data)
	} else {
		s.row = hex.AppendEncode(s.row, m.Data)
	}
	return s.finish(",,,")
}

func (s *csvSink) event(e *recording.Event) error {
	s.tag = s.tag[:0]
	if e.Kind == recording.Gap || e.Kind == recording.Position {
		s.tag, _ = e.Tag.AppendText(s.tag)
	}
	s.begin(e.Time, e.Kind.String(), s.tag, e.Peer)
	if e.Kind == recording.Position {
		s.row = strconv.AppendUint(s.row, e.Count, 10)
	}
	s.row = append(s.row, ",,,,"...)
	if e.Kind == recording.Gap {
		s.row = strconv.AppendUint(s.row, e.Count, 10)
	}
	s.row = append(s.row, ',')
	s.row = append(s.row, causeOf(e)...)
	s.row = append(s.row, ',')
	s.row = appendCell(s.row, []byte(textOf(e)))
	return s.finish("")
}

// finish writes the row.
func (s *csvSink) finish(rest string) error {
	s.row = append(s.row, rest...)
	s.row = append(s.row, '\r', '\n')
	_, err := s.w.Write(s.row)
	return err
}

func (s *csvSink) end() error {
	if s.begun {
		return nil
	}
	_, err := io.WriteString(s.w, csvTitles)
	return err
}

// causeOf returns the cause of a gap, or that something has failed.
func causeOf(e *recording.Event) string {
	switch {
	case e.Kind == recording.Gap:
		return e.Cause.String()
	case e.Failed:
		return "failure"
	}
	return ""
}

// textOf returns what else there is of an event: of a joined publisher its tags.
func textOf(e *recording.Event) string {
	if e.Kind == recording.Joined {
		return e.Tags.String()
	}
	return sanitize.Line(e.Text)
}

// appendCell appends a field, in quotes where it needs them.
func appendCell(b, cell []byte) []byte {
	if !bytes.ContainsAny(cell, ",\"\r\n") {
		return append(b, cell...)
	}
	b = append(b, '"')
	for _, c := range cell {
		if c == '"' {
			b = append(b, '"')
		}
		b = append(b, c)
	}
	return append(b, '"')
}
