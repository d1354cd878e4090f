// SPDX-License-Identifier: Apache-2.0

package sendqueue_test

import (
	"errors"
	"testing"

	"tagbus/bus/internal/sendqueue"
	"tagbus/netio"
	"tagbus/subscription"
)

// closing is a transport that notes its end.
type closing struct {
	*transport
	closed bool
}

func (e *closing) Close() error {
	e.closed = true
	return nil
}

// A connection that is left says what has no later, then goodbye, and closes when that is
// sent. Nothing comes after it.
func TestControl_endsInOrder(t *testing.T) {
	ep := &closing{transport: newTransport(t, netio.Capabilities{Immediate: true}, false)}
	var c sendqueue.Control
	lasts := 0
	c = sendqueue.NewControl(func() {}, func() {}, func() {
		lasts++
		c.Send(&subscription.Received{Messages: 1})
	}, func(err error) { t.Errorf("got %v", err) })
	expect := func(when, way string, leaving, parted, closed bool) {
		t.Helper()
		if ep.way != way || c.Leaving() != leaving || c.Parted() != parted || ep.closed != closed {
			t.Errorf("%s: got %q, leaving %v, parted %v, closed %v", when, ep.way, c.Leaving(), c.Parted(), ep.closed)
		}
	}
	c.Leave()
	expect("without a connection", "", true, false, false)
	c.Stay()
	c.Open(ep, []byte("hello"))
	expect("opened", "c", false, false, false)
	c.Leave()
	expect("hello is not sent yet", "c", true, false, false)
	c.Stay()
	c.Completed()
	expect("it stays", "c", false, false, false)
	c.Send(&subscription.Unsubscribe{ID: 1})
	c.Leave()
	c.Completed()
	expect("all is sent", "cccc", true, true, false)
	c.Send(&subscription.Unsubscribe{ID: 2})
	c.Beat([]byte("beat"))
	c.Completed()
	expect("after the goodbye", "cccc", true, true, false)
	c.Completed()
	expect("goodbye is sent", "cccc", true, true, true)
	if lasts != 1 {
		t.Errorf("the last messages are sent %d times, want once", lasts)
	}
	c.Drop()
	c.Pump()
	expect("the end", "cccc", false, false, true)
}

// A transport that is full or closed is no fault: its readiness or its end follow.
func TestControl_reportsFaults(t *testing.T) {
	broken := errors.New("broken")
	for _, x := range []struct {
		err, want error
	}{{nil, nil}, {netio.ErrNoResources, nil}, {netio.ErrClosed, nil}, {broken, broken}} {
		ep := newTransport(t, netio.Capabilities{Immediate: true}, false)
		ep.full = x.err
		var got error
		c := sendqueue.NewControl(func() {}, func() {}, func() {}, func(err error) { got = err })
		c.Open(ep, []byte("hello"))
		if !errors.Is(got, x.want) || (got == nil) != (x.want == nil) {
			t.Errorf("the transport says %v: got %v, want %v", x.err, got, x.want)
		}
		if waits := c.Waits(); waits != (x.err != nil) {
			t.Errorf("the transport says %v: waits %v", x.err, waits)
		}
		if c.Leave(); c.Waits() {
			t.Error("what leaves has no later")
		}
	}
}
