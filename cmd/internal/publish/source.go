// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"errors"
	"fmt"
	"io"
	"os"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/emulate"
	"tagbus/cmd/internal/record"
	"tagbus/internal/stuck"
	"tagbus/tags"
)

// source is where messages come from.
type source interface {
	// next returns the next message, whose data is valid until the next call;
	// io.EOF, bare, when there are no more.
	next() (tags.Tag, []byte, error)
}

// newSource opens what the flags name. A file stays open until the process
// ends: a read that waits for a pipe may still go on then.
func newSource(f *Flags, stdin io.Reader, say func(string, ...any)) (s source, err error) {
	turns := new(roundRobin)
	if !f.Map.byOffset {
		if turns, err = newRoundRobin(f.Tags); err != nil {
			return nil, &cli.UsageError{Err: err}
		}
	}
	if f.Emulate != nil {
		e := &emulator{turns: turns, generator: emulate.NewGenerator(*f.Emulate), counters: make([]uint64, len(turns.tags))}
		if f.Stamp {
			e.generator.Stamp()
		}
		return e, nil
	}
	in := &input{name: f.Input, format: *f.Record, mapping: f.Map, turns: turns, loop: f.Loop, headed: f.headed(), say: say, r: stdin, noted: make(map[string]bool)}
	if f.Input == "-" {
		in.name = "standard input"
	} else {
		if in.file, err = stuck.OpenStreamAside(f.Input); err != nil {
			return nil, err
		}
		in.r = in.file
	}
	maxBytes := int(f.MaxMessageBytes)
	if in.headed {
		maxBytes -= record.HeaderBytes
		say("each message begins with a record header of %d bytes, which subscriber takes off: --no-record-header leaves it out", record.HeaderBytes)
	}
	if in.reader, err = record.NewReader(in.format, in.r, maxBytes); err != nil {
		return nil, in.explain(err)
	}
	return in.ahead()
}

// ahead has read the first message of a file, so that what cannot be published fails before
// a subscriber is waited for.
type ahead struct {
	source
	tag  tags.Tag
	data []byte
	err  error // io.EOF
	held bool
}

// ahead returns in, with its first message if it is a file and no pipe.
func (in *input) ahead() (source, error) {
	if in.file == nil {
		return in, nil
	}
	info, err := in.file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return in, nil
	}
	a := &ahead{source: in, held: true}
	if a.tag, a.data, a.err = in.next(); a.err != nil && a.err != io.EOF { //nolint:errorlint // next returns it bare
		return nil, a.err
	}
	return a, nil
}

func (a *ahead) next() (tags.Tag, []byte, error) {
	if !a.held {
		return a.source.next()
	}
	a.held = false
	return a.tag, a.data, a.err
}

// emulator makes messages.
type emulator struct {
	turns     *roundRobin
	generator *emulate.Generator
	counters  []uint64 // by position of the tag
}

func (e *emulator) next() (tags.Tag, []byte, error) {
	tag, at := e.turns.next()
	e.counters[at]++
	return tag, e.generator.Next(e.counters[at]), nil
}

// input reads messages from a file or from standard input.
type input struct {
	name    string
	format  record.Format
	mapping Mapping
	turns   *roundRobin
	loop    bool
	headed  bool // messages have a record header
	say     func(string, ...any)

	r       io.Reader
	file    *stuck.File // r, if it is a file
	reader  *record.Reader
	message []byte // with a record header; made again for each
	records uint64 // of this pass
	short   bool   // the last record was, and that was said
	noted   map[string]bool
}

func (in *input) next() (tags.Tag, []byte, error) {
	data, err := in.reader.Next()
	if err == io.EOF && in.loop && in.records > 0 { //nolint:errorlint // Next returns it bare
		data, err = in.again()
	}
	if err == io.EOF { //nolint:errorlint // as above
		return 0, nil, err
	}
	if err != nil {
		return 0, nil, in.explain(err)
	}
	in.records++
	for _, note := range in.reader.Notes() {
		if !in.noted[note] {
			in.noted[note] = true
			in.say("%s: %s", in.name, note)
		}
	}
	if len(data) != in.format.Bytes && in.format.Kind == record.Fixed && !in.short {
		in.short = true
		in.say("%s: the last record has only %d of %d bytes: published as it is", in.name, len(data), in.format.Bytes)
	}
	tag, err := in.tagOf(data)
	if err != nil {
		return 0, nil, fmt.Errorf("%s: record %d: %w", in.name, in.records, err)
	}
	if in.headed {
		data, err = in.head(data)
	}
	return tag, data, err
}

// tagOf returns the tag of a record.
func (in *input) tagOf(data []byte) (tags.Tag, error) {
	if in.mapping.byOffset {
		return in.mapping.tagIn(data)
	}
	tag, _ := in.turns.next()
	return tag, nil
}

// head returns the packet that was just read with a record header before it.
func (in *input) head(packet []byte) ([]byte, error) {
	info, err := in.reader.Info()
	if err == nil {
		if in.message, err = record.AppendHeader(in.message[:0], info, len(packet)); err == nil {
			in.message = append(in.message, packet...)
			return in.message, nil
		}
		err = &record.ReadError{Record: in.records, Err: err}
	}
	return nil, fmt.Errorf("%s: %w: --no-record-header publishes the packets without it", in.name, err)
}

// again returns the first record once more.
func (in *input) again() ([]byte, error) {
	in.records = 0
	if _, err := in.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("--loop needs a file that can be read again: %w", err)
	}
	if err := in.reader.Reset(in.file); err != nil {
		return nil, err
	}
	return in.reader.Next()
}

// explain names the input in an error, and what to do about it.
func (in *input) explain(err error) error {
	if pathErr := new(os.PathError); errors.As(err, &pathErr) {
		return pathErr
	}
	if errors.Is(err, record.ErrTooLong) {
		return fmt.Errorf("%s: %w: raise --max-message-bytes", in.name, err)
	}
	return fmt.Errorf("%s: %w", in.name, err)
}
