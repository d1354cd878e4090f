// SPDX-License-Identifier: Apache-2.0

// Package lossfile keeps what was lost in a file that outlives the process: one JSON object
// a line.
//
// Several processes may append to one file, as each line is one write. A [Writer] adds up
// what is lost and writes it at most once a second. [Read] reads a file.
//
// Imports: bus, bus/state, tags.
package lossfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"tagbus/bus/state"
	"tagbus/internal/stuck"
	"tagbus/tags"
)

// Record is a line of the file: messages that were lost for one reason.
type Record struct {
	Time     time.Time   `json:"time"` // when the line was written
	Role     state.Role  `json:"role"` // of the program that has written it
	Instance string      `json:"instance"`
	Name     string      `json:"name,omitempty"`
	Host     string      `json:"host,omitempty"`
	Peer     Peer        `json:"peer,omitzero"`  // at the other end; missing: not known, or several
	Tag      *tags.Tag   `json:"tag,omitempty"`  // missing: several
	Tags     int         `json:"tags,omitempty"` // without Tag: how many at least; 0: not known
	Policy   string      `json:"policy,omitempty"`
	Cause    state.Cause `json:"cause"`
	Count    uint64      `json:"count"` // messages
	First    time.Time   `json:"first"` // when the program saw the first and the last of them
	Last     time.Time   `json:"last"`
}

// Peer is the other end of a connection.
type Peer struct {
	Instance string `json:"instance"`
	Name     string `json:"name,omitempty"`
	Host     string `json:"host,omitempty"`
}

// Publisher and Subscriber return the ends of the messages: the one that sends first.
func (r *Record) Publisher() Peer {
	if r.sends() {
		return r.self()
	}
	return r.Peer
}

// Subscriber returns the end that did not get the messages.
func (r *Record) Subscriber() Peer {
	if r.sends() {
		return r.Peer
	}
	return r.self()
}

func (r *Record) sends() bool { return r.Role == state.Publisher || r.Role == state.Sender }

func (r *Record) self() Peer { return Peer{r.Instance, r.Name, r.Host} }

// maxLine bounds a line that is read. The longest that is written has about 8 KiB.
const maxLine = 64 << 10

// Read calls f with the records of a file, in its order. Lines that are none, as one that
// was cut off by a full disk, are passed over.
//
//   - bad: how many those are.
//   - Errors: the system's, with the path.
func Read(path string, f func(Record)) (bad int, err error) {
	file, err := stuck.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }() // it was only read
	reader := bufio.NewReaderSize(file, maxLine)
	for {
		line, err := reader.ReadSlice('\n')
		tooLong := false
		for errors.Is(err, bufio.ErrBufferFull) {
			tooLong = true
			line, err = reader.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return bad, err
		}
		var r Record
		switch line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff"))); { // the mark of some editors
		case len(line) == 0 && !tooLong:
		case tooLong, json.Unmarshal(line, &r) != nil, r.Cause == "":
			bad++
		default:
			f(r)
		}
		if err != nil {
			return bad, nil
		}
	}
}

// line returns a record as a line.
func (r *Record) line() ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("a record of losses: %w", err)
	}
	return append(text, '\n'), nil
}
