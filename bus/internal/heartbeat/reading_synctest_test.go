// SPDX-License-Identifier: Apache-2.0

package heartbeat_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/internal/heartbeat"
	"tagbus/netio"
)

// valve is an endpoint that is read, or not.
type valve struct {
	netio.Endpoint
	closed bool
	calls  int
}

func (v *valve) PauseReceive()  { v.closed, v.calls = true, v.calls+1 }
func (v *valve) ResumeReceive() { v.closed, v.calls = false, v.calls+1 }

// A peer is read while there is no reason to pause, on one connection after the other.
func TestReading(t *testing.T) {
	var r heartbeat.Reading
	var p heartbeat.Pulse
	first, second := new(valve), new(valve)
	for _, step := range []struct {
		name           string
		do             func()
		paused         bool
		first, second  bool // are not read
		calls, another int  // of the endpoints
	}{
		{"a reason before there is a connection", r.Pause, true, false, false, 0, 0},
		{"a connection", func() { r.Begin(first, &p) }, true, true, false, 1, 0},
		{"another reason", r.Pause, true, true, false, 1, 0},
		{"one is gone", r.Resume, true, true, false, 1, 0},
		{"the other one is gone", r.Resume, false, false, false, 2, 0},
		{"again", r.Pause, true, true, false, 3, 0},
		{"the connection ends", r.End, true, true, false, 3, 0},
		{"and the reason", r.Resume, false, true, false, 3, 0},
		{"the next connection", func() { r.Begin(second, &p) }, false, true, false, 3, 0},
		{"a reason", r.Pause, true, true, true, 3, 1},
	} {
		step.do()
		if r.Paused() != step.paused || first.closed != step.first || second.closed != step.second || first.calls != step.calls || second.calls != step.another {
			t.Errorf("%s: paused %v, endpoints %+v and %+v", step.name, r.Paused(), first, second)
		}
	}
}

// A pause is no silence, and the limit of a silence begins when it ends.
func TestReadingExcuses(t *testing.T) {
	synctest.Test(t, testReadingExcuses)
}

func testReadingExcuses(t *testing.T) {
	b, p, found := listen(t, time.Second, 5*time.Second, 1000)
	var r heartbeat.Reading
	b.do(func() { r.Begin(new(valve), p) })
	b.in(4 * time.Second)
	b.do(func() {
		r.Pause()
		r.Resume()
	})
	b.in(4 * time.Second)
	if len(*found) > 0 {
		t.Errorf("silent %v, want that the pause has begun its time again", (*found)[0])
	}
	b.in(2 * time.Second)
	if len(*found) == 0 {
		t.Error("not silent at all")
	}
}

// A pause holds this side up when it has lasted for a second.
func TestReadingHeld(t *testing.T) {
	synctest.Test(t, testReadingHeld)
}

func testReadingHeld(t *testing.T) {
	b := newBed(t, time.Second, time.Second, nil)
	var r heartbeat.Reading
	for _, step := range []struct {
		name string
		do   func()
		held time.Duration
	}{
		{"not paused", func() {}, 0},
		{"paused now", r.Pause, 0},
		{"paused for a second", func() { time.Sleep(time.Second) }, time.Second},
		{"another reason", r.Pause, time.Second},
		{"paused for long", func() { time.Sleep(time.Minute) }, time.Minute + time.Second},
		{"one reason is gone", r.Resume, time.Minute + time.Second},
		{"no reason", r.Resume, 0},
	} {
		step.do()
		if held := r.Held(&b.Clock, time.Now()); held != step.held {
			t.Errorf("%s: held %v, want %v", step.name, held, step.held)
		}
	}
}
