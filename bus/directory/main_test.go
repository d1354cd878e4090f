// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tagbus/bus/directory"
	"tagbus/tags"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// entry returns a valid entry.
func entry(instance string, served ...tags.Tag) directory.Entry {
	return directory.Entry{
		Instance: instance, Name: "felix-07", Host: "pc-07", PID: 4711, Backend: "tcp",
		Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:53100"), netip.MustParseAddrPort("[::1]:53100")},
		Tags:      tags.Of(served...), PageBytes: 65536, MaxMessageBytes: 1 << 20,
	}
}

// recorder is a notify function that hands its events to the test.
type recorder struct {
	t      *testing.T
	events chan directory.Event
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	return &recorder{t, make(chan directory.Event, 10_000)}
}

func (r *recorder) notify(e directory.Event) { r.events <- e }

// next returns the next event.
func (r *recorder) next() directory.Event {
	r.t.Helper()
	select {
	case e := <-r.events:
		return e
	case <-time.After(patience):
		r.t.Fatal("got no event, want one")
		return directory.Event{}
	}
}

// want fails the test unless the next event is of that kind and instance.
func (r *recorder) want(kind directory.EventKind, instance string) directory.Event {
	r.t.Helper()
	e := r.next()
	if e.Kind != kind || e.Entry.Instance != instance {
		r.t.Fatalf("got event %v, want %v %s", e, kind, instance)
	}
	return e
}

// wantNone fails the test if an event has come.
func (r *recorder) wantNone() {
	r.t.Helper()
	select {
	case e := <-r.events:
		r.t.Fatalf("got event %v, want none", e)
	default:
	}
}

// within fails the test if done is not closed in time.
func within(t *testing.T, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		t.Fatalf("got no end of %s, want one", what)
	}
}
