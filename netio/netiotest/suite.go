// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"tagbus/internal/testkit"
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
	// Open opens a backend with cfg that reports to h, on a loop that runs. It
	// leaves the end of both to t.Cleanup: first Backend.Close, then the loop.
	// Two calls give two backends that can reach each other; they may share a
	// loop or have one each. If the backend refuses, Open calls t.Fatalf with
	// its error among the arguments.
	Open func(t TB, cfg netio.Config, h netio.Handler) netio.Backend

	// Config is what all backends of a run have in common; tests about shared
	// buffers add theirs. With netio.Unsafe the suite calls everything on the
	// loop. Shared receive buffers must be at least 6 of MessageBytes, as
	// some tests pause that many endpoints, and shared send buffers at least 4
	// of 4 KiB.
	Config netio.Config

	// ReceiveBuffers is how many receive buffers the endpoints of the suite ask
	// for, unless Config shares some. 0: none, for a backend that receives all
	// the same.
	ReceiveBuffers int

	// Violations returns what the debug build of the backend has noticed since
	// the last call. nil: this build does not check its users, and the tests
	// about that skip.
	Violations func() []string

	// ListenAddr is where the tests listen: a host that the backends can dial
	// and port 0.
	ListenAddr netip.AddrPort

	// DeadAddr returns an address that has no listener, and that no listener of
	// the same test is given. nil: the address of a listener that has closed,
	// for a backend that does not give one out again so soon.
	DeadAddr func(t TB) netip.AddrPort

	// Region returns memory for zero-copy sends, which netio.FreeRegion frees. nil:
	// netio.AllocRegion.
	Region func(n int) ([]byte, error)

	// Capabilities is what an endpoint has that was opened with send buffers
	// and a region. A missing one skips its tests.
	Capabilities netio.Capabilities

	// StopLoop ends the loop of a backend that Open has returned and waits for
	// that; Backend.Close then has to do without it. It runs off the loop. nil
	// skips the test.
	StopLoop func(b netio.Backend)

	// Reset breaks the connection between two endpoints abruptly, as a failing
	// network does. nil: RandomRun does without. With netio.Unsafe the endpoints
	// are stand-ins whose methods may be called anywhere.
	Reset func(a, b netio.Endpoint)

	// NoSharing says that the backend refuses shared buffers: what is about them
	// is left out.
	NoSharing bool

	// MaxPieces is the most pieces of data that one Send takes, of a message that
	// is not too large. 0: no limit.
	MaxPieces int

	// Endpoints is how many connections one backend has in the test of many.
	// Default 200.
	Endpoints int

	// MessageBytes is the largest message of the suite, except for one that is
	// refused. Other large ones, and the memory that they come from, are in
	// proportion. At least 128 KiB. Default 1 MiB, and 256 KiB under the race
	// detector, which sees no more in more bytes.
	MessageBytes int

	// Walks is how many walks RandomRun takes, a fifth of it with -short, unless
	// the flag -rapid.checks is set. Default 30, and 100 with TAGBUS_TESTS=all or
	// -short.
	Walks int

	// ConnectTimeout is how long it takes to find out that there is no listener, for
	// a backend whose network does not say so. Default: that of Params.
	ConnectTimeout time.Duration

	// Patience is how long something that must happen may take. It is spent
	// only by a test that fails. Default 5 min.
	Patience time.Duration

	buffers     int // send buffers of an endpoint, or of all that share them
	bufferBytes int
	parts       bool // the handlers take messages in parts
}

func (s Suite) withDefaults() Suite {
	if s.Region == nil {
		s.Region = netio.AllocRegion
	}
	if s.Endpoints == 0 {
		s.Endpoints = 200
	}
	if s.MessageBytes == 0 {
		s.MessageBytes = testkit.Fewer(usualMessageBytes)
	}
	if s.Walks == 0 {
		s.Walks = 30
		if testkit.All() || testing.Short() { // with -short rapid does a fifth
			s.Walks = 100
		}
	}
	if s.Patience == 0 {
		s.Patience = 5 * time.Minute
	}
	s.buffers, s.bufferBytes = suiteBuffers, suiteBufferBytes
	if shared := s.Config.WithDefaults().SharedSend; shared.Enabled() {
		s.buffers, s.bufferBytes = shared.Buffers, shared.BufferBytes
	}
	return s
}

// usualMessageBytes is the default of Suite.MessageBytes in a build without the race
// detector.
const usualMessageBytes = 1 << 20

// scaled returns the size of a message that has n bytes if the largest is as
// usual.
func (s Suite) scaled(n int) int { return n >> 10 * s.MessageBytes / (usualMessageBytes >> 10) }

// sendBuffers returns s with that many send buffers of that size for each
// endpoint, or for all together if they share them.
func (s Suite) sendBuffers(buffers, bufferBytes int) Suite {
	s.buffers, s.bufferBytes = buffers, bufferBytes
	if s.Config.SharedSend.Enabled() {
		s.Config.SharedSend = netio.SharedBuffers{Buffers: buffers, BufferBytes: bufferBytes}
	}
	return s
}

// params are those of an endpoint whose zero-copy sends come from region.
func (s Suite) params(region []byte) netio.Params {
	p := netio.Params{
		ZeroCopy:       netio.ZeroCopyParams{Outstanding: suiteOutstanding, Region: region},
		ConnectTimeout: s.ConnectTimeout,
	}
	if !s.Config.SharedReceive.Enabled() {
		p.Receive = netio.ReceiveParams{MaxMessageBytes: s.MessageBytes, Buffers: s.ReceiveBuffers}
	}
	if !s.Config.SharedSend.Enabled() {
		p.Buffered = netio.BufferedParams{Buffers: s.buffers, BufferBytes: s.bufferBytes}
	}
	return p
}

// check is one sentence of the contract, as a test.
type check struct {
	name string
	run  func(t TB, s Suite)
}

// checks returns the contract in the order in which it is read.
func checks() []check {
	var all []check
	for _, part := range [][]check{
		configChecks, openChecks, sendChecks, directChecks, limitChecks, resourceChecks, sendBufferChecks, receiveChecks, receiveBufferChecks, sharingChecks, retainChecks,
		partsChecks, closeChecks, listenCloseChecks, backendCloseChecks, threadChecks, invariantChecks,
	} {
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
		if s.NoSharing && slices.ContainsFunc(sharingChecks, func(shared check) bool { return shared.name == c.name }) {
			continue
		}
		t.Run(c.name, func(t *testing.T) { c.run(t, s) })
	}
}
