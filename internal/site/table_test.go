// SPDX-License-Identifier: Apache-2.0

package site_test

import (
	"fmt"
	"strings"
	"time"

	"tagbus/bus"
)

// row is what happened in a part of the life of a site.
type row struct {
	name               string
	active             time.Duration // from the beginning until all were active again; 0: nothing changed
	lasted             time.Duration // on the clock of the site
	sent               uint64        // messages of the transport: pages and control messages
	sentBytes          uint64
	messages, missing  uint64 // of the bus
	unexplained        int64
	events             map[bus.EventKind]uint64
	sending, receiving work
	used               time.Duration // of the processors of this machine
}

// phase does something to the site, and notes what happened.
func (s *site) phase(name string, f func()) {
	s.t.Helper()
	s.sending.take()
	s.receiving.take()
	before, began, traffic, used := s.tally(), time.Now(), s.net.Traffic(anyone, anyone), usedTime()
	f()
	after, sent := s.tally(), s.net.Traffic(anyone, anyone)
	r := row{
		name: name, lasted: time.Since(began), sent: sent.Messages - traffic.Messages, sentBytes: sent.Bytes - traffic.Bytes,
		messages: after.messages - before.messages, missing: after.missing - before.missing,
		unexplained: int64(after.missing - after.reported), events: make(map[bus.EventKind]uint64),
		sending: s.sending.take(), receiving: s.receiving.take(), used: usedTime() - used,
	}
	if after.changed.After(began) {
		r.active = after.changed.Sub(began)
	}
	for kind, n := range after.events {
		r.events[kind] = n - before.events[kind]
	}
	s.rows = append(s.rows, r)
	if r.unexplained != 0 {
		s.t.Errorf("%s: %d messages are missing, and events named %d of them", name, after.missing, after.reported)
	}
}

// print writes the rows.
func (s *site) print() {
	var b strings.Builder
	fmt.Fprintf(&b, "%v\n", s.plan)
	for _, r := range s.rows {
		fmt.Fprintf(&b, "%-22s active after %6.3f s; lasted %5.1f s; %d connected, %d subscribed, %d lost, %d vanished, %d goodbyes, %d refused, %d problems\n",
			r.name, r.active.Seconds(), r.lasted.Seconds(), r.events[bus.Connected], r.events[bus.Subscribed]+r.events[bus.Resubscribed],
			r.events[bus.Lost], r.events[bus.Vanished], r.events[bus.Goodbye], r.events[bus.Refused], r.events[bus.Problem])
		fmt.Fprintf(&b, "%22s messages %d, missing %d, unexplained %d; transport %d messages, %d bytes\n", "", r.messages, r.missing, r.unexplained, r.sent, r.sentBytes)
		fmt.Fprintf(&b, "%22s loops of publishers: %v; of consumers: %v; this machine: %.1f s\n", "", r.sending, r.receiving, r.used.Seconds())
	}
	s.t.Log(b.String())
}

// String returns the work as text.
func (w work) String() string {
	return fmt.Sprintf("%d steps, %.2f s, longest %.2f ms", w.steps, w.busy.Seconds(), float64(w.longest)/1e6)
}
