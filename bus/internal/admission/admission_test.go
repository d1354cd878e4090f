// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"tagbus/bus/internal/admission"
)

func TestTheOldestGuestGivesWay(t *testing.T) {
	var g admission.Guests[string]
	for i, step := range []struct{ comes, leaves, way string }{
		{comes: "a"},
		{comes: "b"},
		{comes: "c"},
		{comes: "d", way: "a"},
		{leaves: "b"},
		{leaves: "b"}, // once more, and a stranger: nothing
		{leaves: "x"},
		{comes: "e"},
		{comes: "f", way: "c"},
	} {
		if step.leaves != "" {
			g.Leave(step.leaves)
			continue
		}
		if way, ok := g.Greet(step.comes, 3); way != step.way || ok != (step.way != "") {
			t.Errorf("step %d, %s comes: got %q, %v, want %q to give way", i, step.comes, way, ok, step.way)
		}
	}
}

func TestOneOfNoneIsTheOldestGuest(t *testing.T) {
	var g admission.Guests[int]
	if way, ok := g.Greet(7, 0); !ok || way != 7 {
		t.Errorf("got %d, %v, want 7 to give way to itself", way, ok)
	}
}

// peer is a connection of a test: a letter for the host, and whether it may not give way.
type peer struct {
	host  byte
	name  string
	stays bool
}

func (p *peer) addr() netip.Addr {
	if p.host == 'l' {
		return netip.MustParseAddr("127.0.0.1")
	}
	return netip.AddrFrom4([4]byte{10, 0, 0, p.host})
}

// play takes a place for each word, and says which ones give way, and which are refused.
//
//   - a1: connection 1 of host a, which becomes idle. a1!: it is busy. a1?: it is idle
//     and may not give way.
//   - -a1: it leaves. ~a1: it was busy, and becomes idle.
//   - a1=b2: it takes over the place of connection 2 of host b.
func play(t *testing.T, limit admission.Limits, program string) (got []string, s *admission.Seats[*peer]) {
	t.Helper()
	s = new(admission.Seats[*peer])
	peers := make(map[string]*peer)
	for word := range strings.FieldsSeq(program) {
		name := strings.Trim(word, "-~!?")
		switch word[0] {
		case '-':
			s.Leave(peers[name])
			continue
		case '~':
			s.Idle(peers[name])
			continue
		}
		name, before, _ := strings.Cut(name, "=")
		p := &peer{host: name[0], name: name, stays: strings.HasSuffix(word, "?")}
		peers[name] = p
		way, gaveWay, full := s.Take(p, p.addr(), limit, peers[before], func(p *peer) bool { return !p.stays })
		if !strings.HasSuffix(word, "!") {
			s.Idle(p)
		}
		switch {
		case full != nil && full.Host.IsValid():
			if full.Host != p.addr() {
				t.Errorf("%s: got the share of %v, want of %v", name, full.Host, p.addr())
			}
			got = append(got, fmt.Sprintf("no %s: %d of host", name, full.Taken))
		case full != nil:
			got = append(got, fmt.Sprintf("no %s: %d", name, full.Taken))
		case gaveWay:
			got = append(got, way.name+" for "+name)
		}
	}
	return got, s
}

func TestSeats(t *testing.T) {
	four := admission.Limits{All: 4, Host: 2}
	tests := []struct {
		name    string
		limit   admission.Limits
		program string
		want    string
		taken   int
	}{
		{"there is room", four, "a1 a2 b1 b2", "", 4},
		{"the longest idle one of the host gives way when that has its share", four, "a1 b1 a2 a3", "a1 for a3", 3},
		{"busy ones of the host keep its share", four, "a1! b1 a2! a3", "no a3: 2 of host", 3},
		{"an idle one between busy ones of the host gives way", four, "a1! a2 a3", "a2 for a3", 2},
		{"the host with most idle ones gives way when all are taken", four, "a1 b1 b2 c1 d1", "b1 for d1", 4},
		{"busy ones do not count there", four, "b1! b2! a1! c1 d1", "c1 for d1", 4},
		{"all are busy", four, "a1! a2! b1! b2! c1", "no c1: 4", 4},
		{"the share comes before the number", four, "a1! a2! b1 b2 a3", "no a3: 2 of host", 4},
		{"one that leaves makes room", four, "a1! a2! b1! b2! -a1 c1", "", 4},
		{"one that leaves frees the share of its host", four, "a1! a2! -a1 a3 a4", "a3 for a4", 2},
		{"one that leaves twice frees one place", four, "a1! a2! b1! b2! -a1 -a1 c1! c2", "no c2: 4", 4},
		{"one that has given way has no place any more", four, "a1 a2 a3 -a1 a4", "a1 for a3, a2 for a4", 2},
		{"one that has become idle is the last of the idle ones", four, "a1! a2 ~a1 a3", "a2 for a3", 2},
		{"one without a place is not renewed", four, "a1! a2 -a1 ~a1 b1", "", 2},
		{"one that takes over a place needs no other", four, "a1! a2! b1! b2! a3=a1", "", 4},
		{"the place of another host does not help beyond the share", four, "a1! a2! b1! b2! a3=b1 b3=b1", "no a3: 2 of host", 4},
		{"one whose place is taken over does not give way", four, "a1 b1! c1! d1! a2=a1 d2", "a2 for d2", 4},
		{"the host of the newcomer is preferred among equals", four, "a1 b1 c1! d1! b2", "b1 for b2", 4},
		{"a loopback address has no share", four, "l1! l2! l3! l4 l5", "l4 for l5", 4},
		{"an idle one that may not give way stays", four, "a1? a2 a3", "a2 for a3", 2},
		{"one that may not give way does not count for its host", four, "b1? b2? c1 a1! d1", "c1 for d1", 4},
		{"one that is idle already keeps its turn", four, "a1 a2 ~a1 a3", "a1 for a3", 2},
		{"no place at all", admission.Limits{Host: 1}, "a1", "no a1: 0", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, s := play(t, test.limit, test.program)
			if got := strings.Join(got, ", "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if s.Len() != test.taken {
				t.Errorf("got %d places taken, want %d", s.Len(), test.taken)
			}
		})
	}
}

// Connections are looked at only if there is no place left.
func TestTakeLooksAtOthersOnlyWhenAllIsTaken(t *testing.T) {
	var s admission.Seats[int]
	looks := 0
	for i := range 100 {
		s.Take(i, netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), admission.Limits{All: 100, Host: 1}, -1, func(int) bool {
			looks++
			return true
		})
	}
	if looks > 0 {
		t.Errorf("got %d looks, want none", looks)
	}
}

// A newcomer that is refused looks only at connections that may be idle.
func TestTakeLooksAtNoBusyConnection(t *testing.T) {
	var s admission.Seats[int]
	limits := admission.Limits{All: 1000, Host: 1000}
	looks := 0
	take := func(c int) (way int, gaveWay bool) {
		way, gaveWay, _ = s.Take(c, netip.AddrFrom4([4]byte{10, 0, 0, byte(c % 2)}), limits, -1, func(int) bool {
			looks++
			return true
		})
		return way, gaveWay
	}
	for i := range 1000 {
		take(i)
	}
	s.Idle(7)
	s.Busy(7)
	s.Busy(7) // again
	if _, gaveWay := take(1000); gaveWay || looks > 0 {
		t.Errorf("all are busy: one gave way: %t, after %d looks", gaveWay, looks)
	}
	if !s.Idle(500) || s.Idle(500) || s.Idle(1000) {
		t.Error("Idle: want it to be new once, and only with a place")
	}
	if way, gaveWay := take(1001); !gaveWay || way != 500 || looks > 2 {
		t.Errorf("%d gave way: %t, after %d looks; want 500 after 2", way, gaveWay, looks)
	}
}
