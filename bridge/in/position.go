// SPDX-License-Identifier: Apache-2.0

package in

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"

	"tagbus/bridge/durable"
)

// PositionError means that a run cannot go on where its Config.Position says.
type PositionError struct {
	File string
	Log  string // that the file is about; "": it does not say
	Want string // the log of this run
	Err  error  // nil: the file is about another log
}

// Error names the file, and what to do.
func (e *PositionError) Error() string {
	if e.Err == nil {
		return sanitize.Cut(sanitize.Linef("bridge/in: position %s is one of %s, and not of %s: name another file, or remove this one to begin where From says", e.File, e.Log, e.Want), mostText)
	}
	return sanitize.Cut(sanitize.Linef("bridge/in: position %s: %v: name another file, or remove this one to begin where From says", e.File, e.Err), mostText)
}

// Unwrap returns the cause.
func (e *PositionError) Unwrap() error { return e.Err }

// ErrNotStored means that a file system has not taken a position in time at the end of a run.
var ErrNotStored = errors.New("bridge/in: the position is not stored: the next run publishes some messages again")

// place is how far a log was published, as its file has it.
type place struct {
	Log    string                      `json:"log"`
	After  durable.Position            `json:"after,omitempty"` // where the first run began
	Time   time.Time                   `json:"time,omitzero"`
	Behind map[string]durable.Position `json:"behind,omitempty"`
	Within *within                     `json:"within,omitempty"`
}

// within is a record of which some messages were published: by its key, for the number of a record may be another one in a later run.
type within struct {
	Instance string `json:"instance"` // quoted, for it may be no text
	Tag      uint64 `json:"tag"`
	Next     uint64 `json:"next"` // the counter of the first that was not
}

// withinOf returns the record of a key.
func withinOf(key durable.Key, next uint64) within {
	return within{strconv.QuoteToASCII(key.Instance), uint64(key.Tag), next}
}

// parsePlace reads a file.
func parsePlace(data []byte) (p place, err error) {
	if err := json.Unmarshal(data, &p); err != nil {
		return place{}, fmt.Errorf("it is damaged: %w", err)
	}
	if p.Log == "" || p.Within != nil && p.Within.Next == 0 {
		return place{}, errors.New("it is damaged: something is missing in it")
	}
	for part, at := range p.Behind {
		if at == 0 {
			return place{}, fmt.Errorf("it is damaged: part %q has no record", part)
		}
	}
	return p, nil
}

// loadPlace reads the file of a log; nil: there is none.
func loadPlace(file, log string) (*place, error) {
	data, err := stuck.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var p place
	if err == nil {
		p, err = parsePlace(data)
	}
	if err != nil {
		return nil, &PositionError{File: file, Want: log, Err: err}
	}
	if p.Log != log {
		return nil, &PositionError{File: file, Log: p.Log, Want: log}
	}
	return &p, nil
}

// store replaces the file. A crash of the process, or of its machine, leaves the old one or the new one.
func (p place) store(file string) error {
	defer stuck.Aside(file)() // the program ends without it
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	// Without the Sync a power cut may leave the new name with nothing in it. That of the folder is left out: an older position repeats some.
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
