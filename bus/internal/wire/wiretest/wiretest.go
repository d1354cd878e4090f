// SPDX-License-Identifier: Apache-2.0

// Package wiretest writes and reads pages for tests.
package wiretest

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tagbus/bus/internal/wire"
	"tagbus/tags"
)

// Record is one message of a page.
type Record struct {
	Tag    tags.Tag
	Status uint8
	Data   string
	ID     wire.ID // of a request; zero: it is none
}

// Append adds a record to a page, as Writer.Append does.
func Append(w *wire.Writer, r Record, position uint64) bool {
	if r.ID == (wire.ID{}) {
		return w.Append(r.Tag, wire.Status(r.Status), position, []byte(r.Data))
	}
	return w.Append(r.Tag, wire.Request, position, append(wire.AppendRequest(nil, r.Status, r.ID), r.Data...))
}

// Unhex decodes hex in which spaces separate what belongs together.
func Unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		tb.Fatalf("%q: %v", s, err)
	}
	return b
}

// Page returns a page of lane 0 with the records, which must fit size bytes.
func Page(tb testing.TB, size int, records []Record) []byte {
	tb.Helper()
	var w wire.Writer
	w.Reset(make([]byte, size))
	for i, r := range records {
		if !Append(&w, r, 0) {
			tb.Fatalf("message %d of %d does not fit %d bytes", i, len(records), size)
		}
	}
	return Sent(&w, 0)
}

// Sent returns a page as it is sent, with its header.
func Sent(w *wire.Writer, lane uint16) []byte {
	var header [wire.HeaderBytes]byte
	wire.PutHeader(&header, lane, w.Positions, false, w.Messages)
	return append(header[:], w.Mem...)
}

// The ways to read a page.
const (
	byNext  = iota // all messages by Next
	byPlain        // by NextPlain where it can
	byRun          // by Run where it can
	byCut          // by Cut where it can, some in a row
	ways
)

// Read returns the messages of a page up to its end or its damage, read by Next alone
// and in the ways for plain messages where they can. An error says so if they differ.
func Read(page []byte) (records []Record, err error) {
	records, err = read(page, byNext)
	for way := byNext + 1; way < ways; way++ {
		plain, plainErr := read(page, way)
		if !slices.Equal(records, plain) || fmt.Sprint(err) != fmt.Sprint(plainErr) {
			return records, fmt.Errorf("way %d reads %v, %w, and Next %v, %w", way, plain, plainErr, records, err)
		}
	}
	return records, err
}

func read(page []byte, way int) (records []Record, err error) {
	var r wire.Reader
	if err := r.Reset(wire.Split(page)); err != nil {
		return nil, err
	}
	for {
		plain := plains(&r, way)
		for _, data := range plain {
			records = append(records, Record{Tag: r.Tag, Data: string(data)})
		}
		if len(plain) == 0 {
			if ok, err := r.Next(); !ok {
				return records, err
			}
			records = append(records, recordOf(&r))
			plain = append(plain, r.Data)
		}
		for _, data := range plain {
			if cap(data) != len(data) {
				return records, errors.New("a handler that appends would overwrite the next message")
			}
		}
	}
}

// recordOf returns the message that Next has read.
func recordOf(r *wire.Reader) Record {
	record := Record{Tag: r.Tag, Status: r.Status, Data: string(r.Data)}
	if r.Request {
		record.ID = r.ID
	}
	return record
}

// plains returns the plain messages that a way reads at once.
func plains(r *wire.Reader, way int) (all [][]byte) {
	switch way {
	case byPlain:
		if data, ok := r.NextPlain(); ok {
			all = append(all, data)
		}
	case byRun:
		run, messages := r.Run()
		for at := 0; at < len(run); {
			var data []byte
			data, at, _ = wire.Cut(run, at)
			all = append(all, data)
		}
		if len(all) != messages {
			panic(fmt.Sprintf("a run of %d messages has %d", messages, len(all)))
		}
	case byCut:
		page, at, left := r.Plain()
		for few := min(left, 3); len(all) < few; {
			data, next, ok := wire.Cut(page, at)
			if !ok {
				break
			}
			all, at = append(all, data), next
		}
		r.Skip(at, len(all))
	}
	return all
}
