// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"tagbus/recording"
)

// fuzzLimit is the MaxBlockBytes of fuzzed files.
const fuzzLimit = 1 << 16

// fuzzRead reads a file in all ways. What is read of it can be written, and is read again
// then. It returns the records and the errors.
func fuzzRead(t *testing.T, b []byte) (all []record, errs []error) {
	r, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), recording.ReaderConfig{MaxBlockBytes: fuzzLimit})
	if err != nil {
		var damage *recording.DamageError
		if !errors.Is(err, recording.ErrNotRecording) && !errors.Is(err, recording.ErrVersion) && !errors.As(err, &damage) {
			t.Fatalf("got error %v, which is not one of those of NewReader", err)
		}
		return nil, []error{err}
	}
	if info := r.Info(); info.Blocks > len(b)/64 || info.Cut < 0 || info.Cut+info.Skipped > int64(len(b)) {
		t.Fatalf("got %+v of %d bytes", info, len(b))
	}
	var again bytes.Buffer
	w, err := recording.NewWriter(&again, r.Info().Header, recording.Config{BlockBytes: 4096, Codec: recording.S2})
	must(t, err)
	var want []record
	for rec, err := range r.Records(recording.Query{}) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, of(rec))
		want = append(want, of(rec))
		write(t, w, rec)
	}
	must(t, w.Close())
	if got := readAll(t, open(t, again.Bytes())); !slices.Equal(got, want) {
		t.Fatalf("written again: got %v, want %v", got, want)
	}
	report, err := recording.Verify(r)
	must(t, err)
	messages := 0
	for _, rec := range all {
		if rec.kind == 0 {
			messages++
		}
	}
	if total := report.Total(); total.Messages != uint64(messages) || report.Files[0].Broken != len(errs) {
		t.Fatalf("got %d messages and %d broken blocks in the report, want %d and %d", total.Messages, report.Files[0].Broken, messages, len(errs))
	}
	if series, err := r.Series(); err == nil && errs == nil {
		sum := uint64(0)
		for _, s := range series {
			sum += s.Messages
		}
		if sum != uint64(messages) {
			t.Fatalf("got %d messages in the tables, want %d", sum, messages)
		}
	}
	return all, errs
}

// FuzzReader reads any bytes.
func FuzzReader(f *testing.F) {
	for _, codec := range codecs {
		s := smallFile(f, codec)
		f.Add(s.bytes)
		f.Add(s.bytes[:s.ends[1]+10])
	}
	f.Add(rawFile(3, []byte{99, 1, 0}, rawBlock{table: rawTable(1, 1), body: rawMessage, messages: 1}))
	f.Fuzz(func(t *testing.T, b []byte) { fuzzRead(t, b) })
}

// FuzzBlock reads a block of any content between two good ones. Its checksums are right.
func FuzzBlock(f *testing.F) {
	f.Add(rawTable(1, 1), rawMessage, byte(0), uint16(3), uint8(1), uint8(0))
	f.Add(rawTable(0, 0), []byte{1<<2 | 3, 3, 0, 1, 0}, byte(0), uint16(5), uint8(0), uint8(1))
	f.Add(rawTable(2, 2), []byte{1, 7, 20, 2, 9, 1, 'x', 0, 1, 'y'}, byte(0), uint16(10), uint8(2), uint8(0))
	f.Add(rawTable(1, 1), []byte{3, 8, 0, 1, 'x'}, byte(1), uint16(3), uint8(1), uint8(0))
	f.Add(rawTable(0, 0), []byte{4<<2 | 3, 13, 0, 127, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 5, 0}, byte(0), uint16(16), uint8(0), uint8(1))
	f.Fuzz(func(t *testing.T, table, body []byte, codec byte, decoded uint16, messages, events uint8) {
		good := rawBlock{table: rawTable(1, 1), body: rawMessage, messages: 1}
		fuzzed := rawBlock{table: table, body: body, codec: codec, decoded: int(decoded), messages: uint32(messages), events: uint32(events), number: 1}
		last := good
		last.number = 2
		all, errs := fuzzRead(t, rawFile(0, nil, good, fuzzed, last))
		if len(errs) > 1 || len(all) < 2 || all[0].data != "x" || all[len(all)-1].data != "x" {
			t.Fatalf("got %v and errors %v, want the messages of the good blocks at least", all, errs)
		}
		for _, err := range errs {
			if !errors.Is(err, recording.ErrMalformed) && !errors.Is(err, recording.ErrVersion) && !errors.Is(err, recording.ErrTooLarge) {
				t.Fatalf("got error %v", err)
			}
		}
	})
}
