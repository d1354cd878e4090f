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
		if !w.Append(r.Tag, r.Status, 0, []byte(r.Data)) {
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

// Read returns the messages of a page up to its end or its damage, read by Next alone
// and by NextPlain where it can. An error says so if the two differ.
func Read(page []byte) (records []Record, err error) {
	records, err = read(page, false)
	plain, plainErr := read(page, true)
	if !slices.Equal(records, plain) || fmt.Sprint(err) != fmt.Sprint(plainErr) {
		return records, fmt.Errorf("NextPlain reads %v, %w, and Next %v, %w", plain, plainErr, records, err)
	}
	return records, err
}

func read(page []byte, plain bool) (records []Record, err error) {
	var r wire.Reader
	if err := r.Reset(page); err != nil {
		return nil, err
	}
	for {
		var data []byte
		status, ok := uint8(0), false
		if plain {
			data, ok = r.NextPlain()
		}
		if !ok {
			if ok, err := r.Next(); !ok {
				return records, err
			}
			data, status = r.Data, r.Status
		}
		if cap(data) != len(data) {
			return records, errors.New("a handler that appends would overwrite the next message")
		}
		records = append(records, Record{r.Tag, status, string(data)})
	}
}
