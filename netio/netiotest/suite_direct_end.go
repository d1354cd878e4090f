// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"sync"

	"tagbus/netio"
)

// loosely sends directly until the endpoint is closed, without the books of e, and returns
// how many sends were accepted and not done.
func (e *end) loosely(t TB, key netio.Key, data []byte) (accepted int) {
	for {
		var before int
		e.r.locked(func() { before = len(e.completed) + e.ready })
		switch done, err := e.ep.SendDirect(key, nil, data); {
		case errors.Is(err, netio.ErrClosed):
			return accepted
		case errors.Is(err, netio.ErrNoResources):
			e.r.locked(func() { e.refusals++ })
			problem := e.r.await("a completion or OnSendReady", func() bool { return e.closed || len(e.completed)+e.ready > before })
			if problem != "" {
				t.Errorf("%s: %s", e.r.name, problem)
				return accepted
			}
		case err != nil:
			t.Errorf("SendDirect: got error %v, want none, %v or %v", err, netio.ErrNoResources, netio.ErrClosed)
			return accepted
		case !done:
			accepted++
		}
	}
}

// loose makes several goroutines send directly until e is closed, while end ends it. It
// checks that the keys of all that was accepted are reported, and what has arrived.
func (p *pair) loose(t TB, e, to *end, end func()) {
	t.Helper()
	const goroutines = 3
	e.loose = true
	data := p.memory(t, 1000)
	var accepted [goroutines]int
	var all sync.WaitGroup
	for i := range goroutines {
		all.Go(func() { accepted[i] = e.loosely(t, netio.Key(i), data[:1+i*300]) })
	}
	to.r.wait(t, "some messages", func() bool { return len(to.received) > 20 })
	end()
	all.Wait()
	e.waitClosed(t)
	var reported [goroutines]int
	for _, key := range slices.Concat(e.completed, e.cancelled) {
		reported[key]++
	}
	if reported != accepted {
		t.Errorf("%s: keys of several goroutines: got %d reported, want the %d that were accepted", e.r.name, reported, accepted)
	}
	to.waitClosed(t)
	for i, got := range to.received {
		if len(got)%300 != 1 || !bytes.Equal(got, data[:len(got)]) {
			t.Errorf("message %d: got %s, want one of those sent", i, shortBytes(got))
			return
		}
	}
}

func checkDirectClose(t TB, s Suite) {
	for range Few(5, 2) {
		p := connectDirect(t, s, nil)
		p.loose(t, p.opened, p.accepted, func() {
			if err := p.opened.ep.Close(); err != nil {
				t.Errorf("Close: got error %v, want none", err)
			}
		})
		if p.opened.cause != nil {
			t.Errorf("cause after a local Close: got %v, want nil", p.opened.cause)
		}
	}
}

func checkDirectReset(t TB, s Suite) {
	for i := range Few(10, 4) {
		p := connectDirect(t, s, nil)
		if s.Reset == nil {
			t.Skipf("the suite cannot break connections")
		}
		sender, other := p.opened, p.accepted
		if i%2 == 1 {
			sender, other = other, sender
		}
		p.loose(t, sender, other, func() { s.Reset(p.opened.ep, p.accepted.ep) })
		var op *netio.OpError
		if cause := sender.waitCause(t); cause == io.EOF || !errors.As(cause, &op) { //nolint:errorlint // io.EOF is promised unwrapped
			t.Errorf("cause of a connection that broke: got %v, want an *OpError", cause)
		}
	}
}
