package netiotest

import (
	"net/netip"
	"testing"
	"time"

	"tagbus/netio"
)

// TB is what the suite needs of *testing.T. *rapid.T has it too, and so has the
// fake with which the suite itself is tested.
type TB interface {
	Helper()
	Cleanup(f func())
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
	Failed() bool
}

// Suite describes a backend to Run and RandomRun. Open, ListenAddr and
// Capabilities are required.
type Suite struct {
	// Open opens a backend that reports to h, on a loop that runs. It leaves
	// the end of both to t.Cleanup: first Backend.Close, then the loop. Two
	// calls give two backends that can reach each other; they may share a loop
	// or have one each.
	Open func(t TB, h netio.Handler) netio.Backend

	// ListenAddr is where the tests listen: a host that the backends can dial
	// and port 0.
	ListenAddr netip.AddrPort

	// Capabilities is what an endpoint has that was opened with send buffers
	// and a region. A missing one skips its tests.
	Capabilities netio.Capabilities

	// StopLoop ends the loop of a backend and waits for that; Backend.Close
	// then has to do without it. It runs off the loop. nil skips the test.
	StopLoop func(b netio.Backend)

	// Reset breaks the connection between two endpoints abruptly, as a failing
	// network does. nil: RandomRun does without.
	Reset func(a, b netio.Endpoint)

	// MaxPieces is the most pieces of data that one Send takes. 0: no limit.
	MaxPieces int

	// Endpoints is how many connections one backend has in the test of many.
	// Default 200.
	Endpoints int

	// Patience is how long something that must happen may take. It is spent
	// only by a test that fails. Default 30 s.
	Patience time.Duration
}

func (s Suite) withDefaults() Suite {
	if s.Endpoints == 0 {
		s.Endpoints = 200
	}
	if s.Patience == 0 {
		s.Patience = 30 * time.Second
	}
	return s
}

// check is one sentence of the contract, as a test.
type check struct {
	name string
	run  func(t TB, s Suite)
}

// checks returns the contract in the order in which it is read.
func checks() []check {
	var all []check
	for _, part := range [][]check{openChecks, sendChecks, limitChecks, resourceChecks, receiveChecks, closeChecks, listenCloseChecks, backendCloseChecks, threadChecks} {
		all = append(all, part...)
	}
	return all
}

// Run tests that the backend of s keeps the contract of package netio, one
// subtest per sentence. No test sleeps; what must not happen is looked for
// after traffic that would have come later (see pair.fence).
func Run(t *testing.T, s Suite) {
	t.Helper()
	s = s.withDefaults()
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) { c.run(t, s) })
	}
}
