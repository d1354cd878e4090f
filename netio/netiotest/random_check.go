// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"errors"
	"io"

	"tagbus/netio"
)

// checkDials checks that each accepted OpenEndpoint of a closed backend had one
// outcome. Only the last one to an address may have had none, because the
// backend was closed first.
func (n *walkNode) checkDials(t TB) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	for addr, all := range n.dials {
		established := 0
		for i, l := range all {
			if l.opened != nil {
				established++
			}
			if i < len(all)-1 && !n.ended(l) {
				t.Errorf("%s: OpenEndpoint(%v): got another one accepted before its end, want %v", n.name, addr, netio.ErrEndpointExists)
			}
		}
		outcomes := established + n.refusals(addr)
		if outcomes > len(all) || outcomes < len(all)-1 {
			t.Errorf("%s: %d times OpenEndpoint(%v): got %d established and %d refused, want one outcome for each",
				n.name, len(all), addr, established, outcomes-established)
		}
	}
	for _, r := range n.refused {
		var op *netio.OpError
		if !errors.As(r.err, &op) || op.Addr != r.addr {
			t.Errorf("%s: OnConnectionRefused: got error %v, want an *OpError about %v", n.name, r.err, r.addr)
		}
		if len(n.dials[r.addr]) == 0 {
			t.Errorf("%s: OnConnectionRefused: got one for %v, want none: it was never dialled", n.name, r.addr)
		}
	}
}

// checkEnds checks the causes with which the endpoints of a closed backend
// ended.
func (n *walkNode) checkEnds(t TB) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.ends {
		var op *netio.OpError
		if e.cause != nil && e.cause != io.EOF && !errors.As(e.cause, &op) { //nolint:errorlint // io.EOF is promised unwrapped
			t.Errorf("%s: cause of OnConnectionClosed: got %v, want nil, io.EOF or an *OpError", n.name, e.cause)
		}
	}
}

// checkStats compares the statistics of a closed backend with what it has
// reported.
func (n *walkNode) checkStats(t TB) {
	t.Helper()
	got := n.b.Stats()
	n.mu.Lock()
	defer n.mu.Unlock()
	var opened, accepted, received, bytes, completed, sent, direct uint64
	for _, e := range n.ends {
		if _, ok := e.context.(*walkLink); ok {
			opened++
		} else {
			accepted++
		}
		received += uint64(len(e.received))
		for _, message := range e.received {
			bytes += uint64(len(message))
		}
		completed += uint64(len(e.completed))
		sent += uint64(len(e.accepted))
		direct += uint64(e.direct)
	}
	check := func(what string, got, low, high uint64) {
		if got < low || got > high {
			t.Errorf("%s: Stats.%s: got %d, want %d to %d", n.name, what, got, low, high)
		}
	}
	check("Opened", got.Opened, opened, opened)
	check("Accepted", got.Accepted, accepted, ^uint64(0)) // some end before they are reported
	check("Closed", got.Closed, got.Accepted+got.Opened, got.Accepted+got.Opened)
	check("Refused", got.Refused, uint64(len(n.refused)), uint64(len(n.refused)))
	check("MessagesReceived", got.MessagesReceived, received, received)
	check("BytesReceived", got.BytesReceived, bytes, bytes)
	check("MessagesSent", got.MessagesSent, completed+direct, sent+direct)
	check("MessagesDirect", got.MessagesDirect, direct, direct)
}

// checkSharedBuffers checks that all buffers that the endpoints of a backend share are
// free, once all is settled and nothing is held except what is late.
func (w *walk) checkSharedBuffers(t TB) {
	t.Helper()
	if !w.s.Config.SharedSend.Enabled() {
		return
	}
	for _, n := range w.nodes {
		used := 0
		for _, b := range w.late {
			if b.from == n.recorder {
				used++
			}
		}
		for _, l := range w.links {
			for i, e := range l.ends {
				if !l.over && l.owners[i] == n && e.ep.Room().Buffers != w.s.buffers-used {
					t.Errorf("%s: free buffers of all that the backend shares: got %d, want %d of which %d are held",
						n.name, e.ep.Room().Buffers, w.s.buffers, used)
				}
			}
		}
	}
}

// checkLinks compares, when all backends are closed, what the ends of each
// connection have sent and received.
func (w *walk) checkLinks(t TB) {
	t.Helper()
	unknown := 0 // dials without outcome, whose other end may have been accepted
	for _, n := range w.all {
		for _, all := range n.dials {
			for _, l := range all {
				if l.opened == nil && !n.wasRefused(l) {
					unknown++
				}
				w.know(t, l)
				if l.ends[0] != nil && l.ends[1] != nil {
					if l.mustRefuse { // a stranger may have been given the port, but one of ours may not listen there
						t.Errorf("%s: OpenEndpoint(%v) of a closed listen endpoint: got OnConnectionEstablished, want OnConnectionRefused", n.name, l.addr)
					}
					checkReceived(t, l.ends[0], l.ends[1], true)
					checkReceived(t, l.ends[1], l.ends[0], true)
				}
			}
		}
	}
	for _, n := range w.all {
		for _, a := range n.accepted {
			if a.claimed {
				continue
			}
			if unknown--; unknown < 0 {
				t.Errorf("%s: got a connection accepted from %v, want none: nobody has dialled", n.name, a.remote)
			}
			if len(a.received) > 0 {
				t.Errorf("%s: got %d messages from %v, want none: nobody has sent", n.name, len(a.received), a.remote)
			}
		}
	}
}
