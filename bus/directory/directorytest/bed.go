// SPDX-License-Identifier: Apache-2.0

package directorytest

import (
	"net/netip"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/tags"
)

// Patience is how long a test waits for what must come.
const Patience = time.Minute

// Entry returns a valid entry.
func Entry(instance string, served ...tags.Tag) directory.Entry {
	return directory.Entry{
		Instance: instance, Name: "felix-07", Host: "pc-07", PID: 4711, Backend: "tcp",
		Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:53100"), netip.MustParseAddrPort("[::1]:53100")},
		Tags:      tags.Of(served...), PageBytes: 65536, MaxMessageBytes: 1 << 20,
	}
}

// Recorder is a notify function that hands its events to the test.
type Recorder struct {
	t      *testing.T
	events chan directory.Event
}

// NewRecorder returns one that has no events.
func NewRecorder(t *testing.T) *Recorder {
	t.Helper()
	return &Recorder{t, make(chan directory.Event, 10_000)}
}

// Notify takes an event: it is what Watch calls.
func (r *Recorder) Notify(e directory.Event) { r.events <- e }

// Next returns the next event.
func (r *Recorder) Next() directory.Event {
	r.t.Helper()
	select {
	case e := <-r.events:
		return e
	case <-time.After(Patience):
		r.t.Fatal("got no event, want one")
		return directory.Event{}
	}
}

// Want fails the test unless the next event is of that kind and instance.
func (r *Recorder) Want(kind directory.EventKind, instance string) directory.Event {
	r.t.Helper()
	e := r.Next()
	if e.Kind != kind || e.Entry.Instance != instance {
		r.t.Fatalf("got event %v, want %v %s", e, kind, instance)
	}
	return e
}

// WantNone fails the test if an event has come.
func (r *Recorder) WantNone() {
	r.t.Helper()
	select {
	case e := <-r.events:
		r.t.Fatalf("got event %v, want none", e)
	default:
	}
}

// Within fails the test if done is not closed in time.
func Within(t *testing.T, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(Patience):
		t.Fatalf("got no end of %s, want one", what)
	}
}
