// SPDX-License-Identifier: Apache-2.0

package in

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"tagbus/bridge/durable"
	"tagbus/internal/sanitize"
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
	do := "or remove this one to begin where From says"
	if errors.Is(e.Err, ErrPositionTaken) {
		do = "or end that run"
	}
	return sanitize.Cut(sanitize.Linef("bridge/in: position %s: %v: name another file, %s", e.File, e.Err, do), mostText)
}

// Unwrap returns the cause.
func (e *PositionError) Unwrap() error { return e.Err }

// ErrPositionTaken means that another run keeps its position in a file: both would publish the same messages.
var ErrPositionTaken = errors.New("another run keeps its position there")

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
