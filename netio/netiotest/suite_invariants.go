// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"tagbus/internal/invariants"
	"tagbus/netio"
)

// invariantChecks are about what a debug build notices of its users.
var invariantChecks = []check{
	{"data is overwritten after OnData in a build with invariants", checkPoison},
	{"a change before the completion is reported in a build with invariants", checkChanged},
	{"a change while a direct send is not complete is reported in a build with invariants", checkDirectChanged},
	{"a call off the loop panics in a build with invariants", checkOffLoop},
}

// violations returns what the backend has noticed since the last call. It skips
// the test if it does not look.
func (s Suite) violations(t TB) []string {
	t.Helper()
	if s.Violations == nil {
		t.Skipf("this build does not check its users (tag invariants)")
	}
	return s.Violations()
}

func checkPoison(t TB, s Suite) {
	s.violations(t)
	p := connectPair(t, s, nil)
	looked := 0
	p.server.hook(hooks{data: func(_ *end, data []byte) {
		if invariants.Poisoned(data) {
			t.Errorf("data inside OnData: got %s, want what was sent", shortBytes(data))
		}
		if !p.server.b.Loop().Post(func() {
			if !invariants.Poisoned(data) {
				t.Errorf("%d bytes of data after OnData: got %s, want them overwritten", len(data), shortBytes(data))
			}
			p.server.note(func() { looked++ })
		}) {
			t.Errorf("Post: got false, want true")
		}
	}})
	want := 0
	for _, size := range []int{10, 4000, s.scaled(300 << 10)} {
		for _, w := range p.opened.ways() {
			n := size
			if w == buffered {
				n = min(n, s.bufferBytes)
			}
			// One at a time: the next may have the memory of the last.
			want++
			p.opened.sendAll(t, w, 1, nil, p.memory(t, n))
			p.server.wait(t, "a look at the data after OnData", func() bool { return looked == want })
		}
	}
	p.unhook(t)
}

func checkChanged(t TB, s Suite) { checkChangedBy(t, s, zeroCopy) }

func checkDirectChanged(t TB, s Suite) { checkChangedBy(t, s, direct) }

func checkChangedBy(t TB, s Suite, w way) {
	t.Helper()
	s.violations(t)
	p := connectPair(t, s, nil)
	p.has(t, w)
	data := p.memory(t, s.MessageBytes/2)
	p.opened.sendAll(t, w, 1, []byte("head"), data[:1000], data[1000:])
	p.opened.waitIdle(t)
	if got := s.violations(t); len(got) != 0 {
		t.Errorf("reports when no memory was changed: got %q, want none", got)
	}
	p.server.pause(t, p.accepted)
	p.fill(t, w, data)
	p.client.onLoop(t, func() { data[len(data)-1]++ }) // of a send that is outstanding
	p.server.resume(t, p.accepted)
	p.opened.waitIdle(t)
	if got := s.violations(t); len(got) == 0 {
		t.Errorf("reports when the memory of a send was changed before its completion: got none, want one")
	}
	p.opened.sendAll(t, w, 2, nil, data)
	p.opened.waitIdle(t)
	if got := s.violations(t); len(got) != 0 {
		t.Errorf("reports when memory was changed between two sends: got %q, want none", got)
	}
}

func checkOffLoop(t TB, s Suite) {
	if s.Config.ThreadSafety != netio.Unsafe {
		t.Skipf("every goroutine may call this backend")
	}
	s.violations(t)
	p := connectPair(t, s, nil)
	data := p.memory(t, 100)
	ep, l := p.opened.ep.(*marshalEndpoint).Endpoint, p.l.(*marshalListener).ListenEndpoint
	calls := []struct {
		method string
		call   func() error
	}{
		{"Backend.OpenListenEndpoint", func() error { _, err := p.server.bare.OpenListenEndpoint(s.ListenAddr, p.params()); return err }},
		{"Backend.OpenEndpoint", func() error { return p.server.bare.OpenEndpoint(s.ListenAddr, p.params()) }},
		{"Buffer", func() error { _, err := ep.Buffer(); return err }},
		{"Send", func() error { return ep.Send(1, nil, data) }},
		{"SendCopy", func() error { return ep.SendCopy(1, nil, data) }},
		{"SendDirect", func() error { _, err := ep.SendDirect(1, nil, data); return err }},
		{"Room", func() error { ep.Room(); return nil }},
		{"PauseReceive", func() error { ep.PauseReceive(); return nil }},
		{"ResumeReceive", func() error { ep.ResumeReceive(); return nil }},
		{"Endpoint.Close", ep.Close},
		{"ListenEndpoint.Close", l.Close},
	}
	if s.Capabilities.Buffered {
		b := p.client.buffer(t, p.opened)
		defer p.client.release(b)
		calls = append(calls, struct {
			method string
			call   func() error
		}{"SendBuffer", func() error { return ep.SendBuffer(b) }})
	}
	for _, c := range calls {
		func() {
			defer func() {
				if recover() == nil {
					t.Fatalf("%s off the loop: got no panic, want one", c.method)
				}
			}()
			if err := c.call(); err != nil {
				t.Errorf("%s off the loop: got error %v, want a panic", c.method, err)
			}
		}()
	}
	p.both(func(from, to *end) { // nothing has happened
		from.sendAll(t, from.ways()[0], 1, nil, data)
		to.waitReceived(t, 1)
		from.waitIdle(t)
		checkReceived(t, from, to, false)
	})
}
