// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/reactor"
	"tagbus/netio/shm"
)

// there returns how many bytes of a region the system has committed.
func there(t *testing.T, region []byte) int {
	t.Helper()
	fd, ok := netio.RegionFile(region)
	if !ok {
		t.Fatal("RegionFile: got none, want one")
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		t.Fatalf("Fstat: got error %v, want none", err)
	}
	return int(st.Blocks) * 512
}

// lending are the parameters of who lends a region.
func lending(region []byte) netio.Params {
	return netio.Params{ZeroCopy: netio.ZeroCopyParams{Region: region}}
}

// TestRegionIsCommittedForItsFirstReader: a listen endpoint has none of it committed, nor has one
// to which strangers have connected.
func TestRegionIsCommittedForItsFirstReader(t *testing.T) {
	region := sharedRegion(t, 5<<20+1)
	s := serve(t, shm.Config{}, lending(region))
	silent, rude := s.connect(t), s.connect(t)
	if err := rude.Say([]byte("rude")); err != nil {
		t.Fatalf("say: got error %v, want none", err)
	}
	rude.Closed()
	if got := there(t, region); got != 0 {
		t.Errorf("committed before there is a reader: got %d bytes, want none", got)
	}
	for range 2 {
		_, ep := s.greet(t)
		if got := there(t, region); got < len(region) {
			t.Errorf("committed for a reader: got %d bytes, want all %d", got, len(region))
		}
		if err := ep.Send(1, nil, region[:4096]); err != nil {
			t.Errorf("Send: got error %v, want none", err)
		}
	}
	silent.Close()
}

// TestRegionOfWhoDialsIsCommitted, if anyone answers.
func TestRegionOfWhoDialsIsCommitted(t *testing.T) {
	region := sharedRegion(t, 5<<20+1)
	s := serve(t, shm.Config{}, netio.Params{})
	w := newWatcher()
	b, _ := backendtest.Open(t, reactor.Config{}, w, opener(shm.Config{Folder: s.folder}))
	if err := b.OpenEndpoint(netip.MustParseAddrPort("127.0.0.1:1"), lending(region)); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	_ = next(t, "OnConnectionRefused", w.Refused)
	if got := there(t, region); got != 0 {
		t.Errorf("committed for nobody: got %d bytes, want none", got)
	}
	_, ep, _ := s.dial(t, w, shm.Config{}, lending(region))
	if got := there(t, region); got < len(region) {
		t.Errorf("committed for a reader: got %d bytes, want all %d", got, len(region))
	}
	if err := ep.Send(1, nil, bytes.Repeat([]byte("x"), 5000), region[:5000]); err != nil {
		t.Fatalf("Send: got error %v, want none", err)
	}
	if got := next(t, "OnData", s.Data); len(got) != 10_000 {
		t.Errorf("message: got %d bytes, want 10000", len(got))
	}
}

// committer stands for netio.CommitRegion, which takes as long as a test wants, and fails.
type committer struct {
	calls atomic.Int32
	done  atomic.Bool
	err   atomic.Pointer[error]
}

func (c *committer) commit(region []byte, budget int) (done bool, err error) {
	c.calls.Add(1)
	if err := c.err.Load(); err != nil {
		return false, *err
	}
	if !c.done.Load() {
		return false, nil
	}
	return netio.CommitRegion(region, budget)
}

// introduced returns a peer that has introduced itself, and was not answered.
func (s *served) introduced(t *testing.T) *shm.Peer {
	t.Helper()
	p := s.connect(t)
	fd, err := p.SegmentFile()
	if err != nil {
		t.Fatalf("SegmentFile: got error %v, want none", err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := p.Say(p.Greeting(0), fd); err != nil {
		t.Fatalf("say: got error %v, want none", err)
	}
	return p
}

// TestConnectionsWaitForTheRegion: their time for the greeting is over then, and the loop
// turns.
func TestConnectionsWaitForTheRegion(t *testing.T) {
	region := sharedRegion(t, 5<<20)
	c := new(committer)
	s := serve(t, shm.WithCommit(shm.Config{}, c.commit, time.Second), lending(region))
	peers := []*shm.Peer{s.introduced(t), s.introduced(t), s.introduced(t)}
	peers[2].Close() // one that does not wait
	for c.calls.Load() < 100 {
		onLoop(t, s.b.Loop(), func() {})
	}
	if n := len(s.Established); n != 0 {
		t.Errorf("OnConnectionEstablished while the region is committed: got %d, want none", n)
	}
	c.done.Store(true)
	for i, p := range peers[:2] {
		if err := p.Answered(); err != nil {
			t.Errorf("connection %d: got error %v, want it accepted", i, err)
		}
		next(t, "OnConnectionEstablished", s.Established)
	}
	if got := there(t, region); got < len(region) {
		t.Errorf("committed: got %d bytes, want all %d", got, len(region))
	}
	calls := c.calls.Load()
	s.isWell(t)
	if got := c.calls.Load(); got != calls {
		t.Errorf("steps for a region that is committed: got %d, want none", got-calls)
	}
}

// TestRegionThatCannotBeCommitted: a connection is refused, the user is told once, and it
// is tried again later.
func TestRegionThatCannotBeCommitted(t *testing.T) {
	netiotest.CheckLeaks(t)
	region := sharedRegion(t, 1<<20)
	for _, pause := range []time.Duration{time.Hour, 1} {
		c := new(committer)
		c.err.Store(&netio.ErrNoMemory)
		var text bytes.Buffer
		cfg := shm.WithCommit(shm.Config{Logger: slog.New(slog.NewTextHandler(&text, nil))}, c.commit, pause)
		s := serve(t, cfg, lending(region))
		for range 3 {
			if err := s.connect(t).Greet(); err == nil {
				t.Errorf("a connection without memory for the region: got accepted, want it closed")
			}
		}
		if got := c.calls.Load(); pause == time.Hour && got != 1 || pause == 1 && got < 2 {
			t.Errorf("pause of %v: got %d tries for 3 connections, want 1 within the pause", pause, got)
		}
		if got := s.b.Stats(); got.AcceptErrors != 3 || got.Accepted != 0 {
			t.Errorf("Stats: got %+v, want 3 connections dismissed", got)
		}
		c.err.Store(nil)
		c.done.Store(true)
		if pause == 1 {
			s.isWell(t)
		}
		_ = s.b.Close()
		if got := text.String(); strings.Count(got, "PoolBytes") != 1 || !strings.Contains(got, netio.ErrNoMemory.Error()) {
			t.Errorf("log: got %q, want the failure once, with what to do", got)
		}
	}
}

func TestRegionOfWhoDialsCannotBeCommitted(t *testing.T) {
	region := sharedRegion(t, 1<<20)
	s := serve(t, shm.Config{}, netio.Params{})
	c := new(committer)
	c.err.Store(&netio.ErrNoMemory)
	w := newWatcher()
	cfg := shm.WithCommit(shm.Config{Folder: s.folder}, c.commit, time.Second)
	b, _ := backendtest.Open(t, reactor.Config{}, w, opener(cfg))
	if err := b.OpenEndpoint(s.l.Addr(), lending(region)); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	if got := next(t, "OnConnectionRefused", w.Refused); !errors.Is(got, netio.ErrNoMemory) {
		t.Errorf("OnConnectionRefused: got %v, want %v", got, netio.ErrNoMemory)
	}
	s.isWell(t)
}

// TestCloseWhileCommitting: of who listens, or dials, or of all.
func TestCloseWhileCommitting(t *testing.T) {
	netiotest.CheckLeaks(t)
	region := sharedRegion(t, 1<<20)
	for _, how := range []string{"listen endpoint", "backend", "backend that dials"} {
		c := new(committer)
		cfg := shm.WithCommit(shm.Config{Folder: folder(t)}, c.commit, time.Second)
		s := serve(t, cfg, lending(region))
		var p *shm.Peer
		closing := s.b.Close
		if how == "backend that dials" {
			b, _ := backendtest.Open(t, reactor.Config{}, newWatcher(), opener(cfg))
			if err := b.OpenEndpoint(s.l.Addr(), lending(region)); err != nil {
				t.Fatalf("OpenEndpoint: got error %v, want none", err)
			}
			closing = b.Close
		} else {
			p = s.introduced(t)
		}
		for c.calls.Load() < 10 {
			onLoop(t, s.b.Loop(), func() {})
		}
		if how == "listen endpoint" {
			closing = s.l.Close
		}
		if err := closing(); err != nil {
			t.Errorf("%s: Close: got error %v, want none", how, err)
		}
		if how == "listen endpoint" { // which closes in a turn of the loop
			onLoop(t, s.b.Loop(), func() {})
		}
		c.done.Store(true)
		if p != nil {
			p.Closed()
		}
		_ = s.b.Close()
		if n := len(s.Established) + len(s.Closed); n != 0 {
			t.Errorf("%s: callbacks: got %d, want none", how, n)
		}
		if got := s.b.Stats(); got.Accepted != 0 {
			t.Errorf("%s: Stats.Accepted: got %d, want none", how, got.Accepted)
		}
	}
}
