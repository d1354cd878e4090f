// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit/backendtest"
	"tagbus/internal/testkit/pki"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/reactor"
	"tagbus/netio/shm"
)

// raw connects to the socket of s by hand.
func (s *served) raw(t *testing.T) *net.UnixConn {
	t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(s.folder, s.l.Addr().String()), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// half is the beginning of a ClientHello.
var half = []byte{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}

// isWellFor checks that s lets in a peer that is in order.
func (s *served) isWellFor(t *testing.T, cfg shm.Config) {
	t.Helper()
	w, _ := s.dialWith(t, cfg)
	ep := next(t, "OnConnectionEstablished", w.Established)
	next(t, "OnConnectionEstablished", s.Established)
	if err := ep.SendCopy(1, nil, []byte("all is well")); err != nil {
		t.Fatalf("SendCopy: got error %v, want none", err)
	}
	if got := string(next(t, "OnData", s.Data)); got != "all is well" {
		t.Errorf("message: got %q, want that of a peer that is in order", got)
	}
}

// TestTLS_halfHandshakesAreFew: strangers that begin a handshake and stop take a bounded number of places and of
// goroutines, and an honest peer gets in beside them.
func TestTLS_halfHandshakesAreFew(t *testing.T) {
	netiotest.CheckLeaks(t)
	cfg := withTLS(t, shm.Config{MaxEndpoints: 40})
	cfg.TLS.MaxHandshakes = 2
	s := serve(t, cfg, netio.Params{})
	for range netiotest.Few(1000, 300) {
		c := s.raw(t)
		_, _ = c.Write(half) // it may be closed already
		if busy, _, parked := shm.Handshakes(s.b); busy > 2 || parked > 32 {
			t.Fatalf("got %d handshakes and %d parked, want at most 2 and 32", busy, parked)
		}
	}
	s.isWellFor(t, cfg)
	if got := s.b.Stats(); got.AcceptShed == 0 || got.Accepted != 1 {
		t.Errorf("Stats: got %+v, want strangers shed, and one peer accepted", got)
	}
}

// TestTLS_aHandshakeThatNeverEnds: it ends with its time, and so does one whose peer says nothing at all, or no
// greeting behind it.
func TestTLS_aHandshakeThatNeverEnds(t *testing.T) {
	netiotest.CheckLeaks(t)
	cfg := shm.WithGreetingTimeout(withTLS(t, shm.Config{}), time.Millisecond)
	cfg.TLS.HandshakeTimeout = time.Millisecond
	s := serve(t, cfg, netio.Params{})
	for _, say := range [][]byte{nil, half[:1], half, bytes.Repeat([]byte{0x16, 3, 1}, 100_000)} {
		c := s.raw(t)
		_, _ = c.Write(say)
		if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, unix.ECONNRESET) {
			t.Errorf("%d bytes: got error %v, want the end", len(say), err)
		}
	}
	if got := s.b.Stats(); got.Accepted != 0 || got.AcceptErrors != 4 {
		t.Errorf("Stats: got %+v, want none accepted, and 4 dismissed", got)
	}
}

// TestTLS_aPeerMayWaitBeforeItsHandshake: as long as HandshakeTimeout says, and not as strangers do without certificates.
// Its own handshakes may stand in line.
func TestTLS_aPeerMayWaitBeforeItsHandshake(t *testing.T) {
	netiotest.CheckLeaks(t)
	ca := pki.New(t, "ca")
	own := ca.Issue(t, "peer", nil)
	cfg := shm.WithGreetingTimeout(shm.Config{TLS: tlsOf(ca, own)}, time.Millisecond)
	s := serve(t, cfg, netio.Params{})
	late := s.raw(t)
	other := tls.Client(s.raw(t), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{shm.TLSProtocol}})
	if _, err := io.Copy(io.Discard, other); err == nil { // it takes more than a millisecond
		t.Error("a peer without a certificate: got no error, want one")
	}
	c := tls.Client(late, &tls.Config{
		Certificates: []tls.Certificate{own}, InsecureSkipVerify: true, NextProtos: []string{shm.TLSProtocol}, MinVersion: tls.VersionTLS13,
	})
	if err := c.Handshake(); err != nil {
		t.Errorf("Handshake: got error %v, want none", err)
	}
}

// TestTLS_whatFollowsTheHandshake: a peer with a certificate that is in order, and says something else than its bond.
func TestTLS_whatFollowsTheHandshake(t *testing.T) {
	netiotest.CheckLeaks(t)
	ca := pki.New(t, "ca")
	own := ca.Issue(t, "peer", nil)
	cfg := shm.Config{TLS: tlsOf(ca, own)}
	s, hasty := serve(t, cfg, netio.Params{}), serve(t, shm.WithGreetingTimeout(cfg, time.Millisecond), netio.Params{})
	dial := func(s *served, protocol string) *tls.Conn {
		return tls.Client(s.raw(t), &tls.Config{
			Certificates: []tls.Certificate{own}, InsecureSkipVerify: true, NextProtos: []string{protocol}, MinVersion: tls.VersionTLS13,
		})
	}
	good, err := shm.OwnBond()
	if err != nil {
		t.Fatal(err)
	}
	other := bytes.Clone(good)
	other[8]++
	for name, x := range map[string]struct {
		to       *served
		protocol string
		say      []byte
	}{
		"the protocol of the backend tls": {s, "tagbus/1", nil},
		"zeros":                           {s, shm.TLSProtocol, make([]byte, len(good))},
		"another version":                 {s, shm.TLSProtocol, other},
		"nothing more":                    {hasty, shm.TLSProtocol, good},
		"too much":                        {hasty, shm.TLSProtocol, append(bytes.Clone(good), bytes.Repeat([]byte{1}, 100_000)...)},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(x.to, x.protocol)
			_, err := c.Write(x.say)
			if err == nil {
				_, err = io.Copy(io.Discard, c)
			}
			t.Logf("the end: %v", err)
		})
	}
	s.isWellFor(t, cfg)
	if got := s.b.Stats().Accepted + hasty.b.Stats().Accepted; got != 1 {
		t.Errorf("Stats: got %d accepted, want only the peer that is in order", got)
	}
}

// TestTLS_aPeerThatIgnoresWhatItIsTold has a certificate that is in order, and says of itself and of its memory what is not so.
// It is not told and trusted to go: it is not let in.
func TestTLS_aPeerThatIgnoresWhatItIsTold(t *testing.T) {
	netiotest.CheckLeaks(t)
	ca := pki.New(t, "ca")
	own := ca.Issue(t, "peer", nil)
	cfg := shm.Config{TLS: tlsOf(ca, own)}
	file := func(t *testing.T, bytes int) (fd int) {
		t.Helper()
		fd, err := shm.MemoryFile(bytes, bytes, shm.GoodSeals)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
		return fd
	}
	for _, test := range []struct {
		name string
		bond func(segment, region, other int) ([]byte, error)
		in   bool
	}{
		{"what is so", func(segment, region, _ int) ([]byte, error) { return shm.BondOf(nil, segment, region) }, true},
		{"another user", func(segment, region, _ int) ([]byte, error) { return shm.BondOf(shm.OfUser(4711), segment, region) }, false},
		{"another user namespace", func(segment, region, _ int) ([]byte, error) { return shm.BondOf(shm.InSpace(1), segment, region) }, false},
		{"no user namespace", func(segment, region, _ int) ([]byte, error) { return shm.BondOf(shm.InSpace(0), segment, region) }, false},
		{"another segment", func(_, region, other int) ([]byte, error) { return shm.BondOf(nil, other, region) }, false},
		{"another region", func(segment, _, other int) ([]byte, error) { return shm.BondOf(nil, segment, other) }, false},
		{"no region", func(segment, _, _ int) ([]byte, error) { return shm.BondOf(nil, segment) }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			const regionBytes = 1 << 20
			s, p := serve(t, cfg, netio.Params{}), shm.NewPeer()
			segment, region := file(t, p.SegmentBytes()), file(t, regionBytes)
			say, err := test.bond(segment, region, file(t, regionBytes))
			if err != nil {
				t.Fatal(err)
			}
			c := s.raw(t)
			secure := tls.Client(c, &tls.Config{Certificates: []tls.Certificate{own}, InsecureSkipVerify: true, NextProtos: []string{shm.TLSProtocol}, MinVersion: tls.VersionTLS13})
			if _, err = secure.Write(say); err == nil {
				_, err = io.ReadFull(secure, make([]byte, len(say)))
			}
			if err != nil {
				t.Fatalf("bonds: got error %v, want them changed", err)
			}
			_, _, err = c.WriteMsgUnix(p.Greeting(regionBytes), unix.UnixRights(segment, region), nil)
			if test.in {
				next(t, "OnConnectionEstablished", s.Established)
				return
			}
			ended := make(chan error, 1)
			go func() {
				_, end := io.Copy(io.Discard, c)
				ended <- errors.Join(err, end)
			}()
			select {
			case <-s.Established:
				t.Fatal("it is let in")
			case err := <-ended:
				t.Logf("the end: %v", err)
			}
			if got := s.b.Stats(); got.Accepted > 0 || got.AcceptErrors != 1 {
				t.Errorf("got %+v, want it dismissed", got)
			}
		})
	}
}

// TestTLS_unknownUserNamespacesAreNotAlike: two containers without /proc have nothing in common.
func TestTLS_unknownUserNamespacesAreNotAlike(t *testing.T) {
	for _, test := range []struct {
		own, theirs uint64
		want        error
	}{{1, 1, nil}, {1, 2, shm.ErrUserNamespace}, {0, 1, shm.ErrUserNamespace}, {1, 0, shm.ErrUserNamespace}, {0, 0, shm.ErrUserNamespace}} {
		if err := shm.Judged(test.own, test.theirs); !errors.Is(err, test.want) {
			t.Errorf("namespaces %d and %d: got %v, want %v", test.own, test.theirs, err, test.want)
		}
	}
}

// TestTLS_anotherProtocolListens: what answers speaks TLS, and not this.
func TestTLS_anotherProtocolListens(t *testing.T) {
	ca := pki.New(t, "ca")
	own := ca.Issue(t, "peer", nil)
	cfg := shm.Config{TLS: tlsOf(ca, own), Folder: folder(t)}
	l, err := net.Listen("unix", filepath.Join(cfg.Folder, relayName))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		if c, err := l.Accept(); err == nil {
			_ = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{own}, NextProtos: []string{"tagbus/1"}}).Handshake()
			_ = c.Close()
		}
	}()
	w := newWatcher()
	b, _ := backendtest.Open(t, reactor.Config{}, w, opener(cfg))
	if err := b.OpenEndpoint(netip.MustParseAddrPort(relayName), netio.Params{}); err != nil {
		t.Fatal(err)
	}
	if err := next(t, "OnConnectionRefused", w.Refused); !errors.Is(err, shm.ErrNoProtocol) {
		t.Errorf("got %v, want %v", err, shm.ErrNoProtocol)
	}
}

// FuzzBond: what can be parsed is what would be sent.
func FuzzBond(f *testing.F) {
	good, err := shm.OwnBond()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:79])
	f.Add([]byte("tagbus\x00U"))
	f.Fuzz(func(t *testing.T, b []byte) {
		again, err := shm.ParseBond(b)
		if err != nil {
			if !errors.Is(err, shm.ErrHandshake) {
				t.Errorf("got error %v, want %v", err, shm.ErrHandshake)
			}
			return
		}
		if string(again[:68]) != string(b[:68]) {
			t.Errorf("bond: got %x, want %x as it came", again[:68], b[:68])
		}
	})
}
