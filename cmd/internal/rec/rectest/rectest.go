// SPDX-License-Identifier: Apache-2.0

// Package rectest writes and reads recordings in tests.
package rectest

import (
	"context"
	"iter"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/recording"
	"tagbus/tags"
)

// Alice is a publisher.
var Alice = &bus.Peer{Instance: "AAAAAAAAAAAAAAAAAAAAAA", Name: "alice", Host: "host1", PID: 11, Addr: netip.MustParseAddrPort("10.0.0.1:4001")}

// Ends returns a context that has ended once it has been asked n times for that, and a function that
// reports whether it was asked more often. So a test ends what a command does at each of its steps.
func Ends(ctx context.Context, n int64) (ending context.Context, hasEnded func() bool) {
	e := &ends{Context: ctx}
	e.left.Store(n)
	return e, func() bool { return e.left.Load() < 0 }
}

type ends struct {
	context.Context
	left atomic.Int64
}

// Err implements context.Context.
func (e *ends) Err() error {
	if e.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// Header is that of a recording with this number.
func Header(id byte, created time.Time) recording.Header {
	return recording.Header{
		ID: recording.ID{id}, Created: created, Host: "recorder1", Name: "rec", Version: "v1", Tags: tags.Of(1, 2, 3), Policy: "block",
	}
}

// Message is the record of a message.
func Message(at time.Time, m bus.Message) recording.Record {
	return recording.Record{Message: recording.Message{Time: at, Message: m}}
}

// Write writes a file of records.
func Write(tb testing.TB, path string, h recording.Header, cfg recording.Config, records iter.Seq[recording.Record]) {
	tb.Helper()
	f, err := os.Create(path)
	testkit.Must(tb, err)
	w, err := recording.NewWriter(f, h, cfg)
	testkit.Must(tb, err)
	for r := range records {
		if r.Event != nil {
			testkit.Must(tb, w.AppendEvent(*r.Event))
		} else {
			testkit.Must(tb, w.Append(r.Time, &r.Message.Message))
		}
	}
	testkit.Must(tb, w.Close())
	testkit.Must(tb, f.Close())
}

// Read returns what is in a file. A record is valid until the next one.
func Read(tb testing.TB, path string) iter.Seq[recording.Record] {
	tb.Helper()
	return func(yield func(recording.Record) bool) {
		r, err := recording.Open(path)
		testkit.Must(tb, err)
		defer func() { testkit.Must(tb, r.Close()) }()
		for record, err := range r.Records(recording.Query{}) {
			testkit.Must(tb, err)
			if !yield(record) {
				return
			}
		}
	}
}

// Verify verifies a file.
func Verify(tb testing.TB, path string) *recording.Report {
	tb.Helper()
	r, err := recording.Open(path)
	testkit.Must(tb, err)
	defer func() { testkit.Must(tb, r.Close()) }()
	report, err := recording.Verify(r)
	testkit.Must(tb, err)
	return report
}
