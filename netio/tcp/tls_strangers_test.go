// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/backendtest"
	"tagbus/internal/testkit/pki"
	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/tcp"
)

var quiet = slog.New(slog.DiscardHandler)

// hello returns the first bytes of a handshake that cfg makes.
func hello(tb testing.TB, cfg *tls.Config) []byte {
	tb.Helper()
	a, b := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = tls.Client(a, cfg).Handshake()
	}()
	head := make([]byte, 5)
	if _, err := io.ReadFull(b, head); err != nil {
		tb.Fatalf("read: got error %v, want none", err)
	}
	all := append(head, make([]byte, int(head[3])<<8+int(head[4]))...)
	if _, err := io.ReadFull(b, all[5:]); err != nil {
		tb.Fatalf("read: got error %v, want none", err)
	}
	_, _ = a.Close(), b.Close()
	<-done
	return all
}

// dialSecure connects a backend of cfg to addr, and returns its end.
func dialSecure(tb testing.TB, cfg tcp.Config, s *served) (*watcher, netio.Endpoint) {
	tb.Helper()
	w := newWatcher()
	client := openBackend(tb, w, cfg)
	if err := client.OpenEndpoint(s.l.Addr(), netio.Params{}); err != nil {
		tb.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	return w, next(tb, "OnConnectionEstablished", w.Established)
}

// TestTLS_aThousandHalfHandshakes: each takes a place at the desk and says no more. An honest
// peer gets in long before their time is over, and there are never more handshakes at
// once than places, and those that are parked.
func TestTLS_aThousandHalfHandshakes(t *testing.T) {
	const places = 32
	const most = places * tcp.ParkedPerPlace
	cfg := withTLS(t, tcp.Config{Logger: quiet})
	cfg.TLS.HandshakeTimeout, cfg.TLS.MaxHandshakes = time.Hour, places
	server := serve(t, newWatcher(), cfg, netio.Params{})
	tcp.Spare(server.b)
	first := hello(t, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{tcp.TLSProtocol}})
	check := func() {
		if busy, _, parked := tcp.Handshakes(server.b); busy > places || parked > most {
			t.Fatalf("handshakes at once: got %d and %d parked, want at most %d and %d", busy, parked, places, most)
		}
	}
	all := netiotest.Few(1000, 200)
	for i := range all {
		write(t, dialRaw(t, server.l.Addr()), first[:len(first)-i%2*100]) // whole, or in part
		check()
	}
	w := newWatcher()
	client := openBackend(t, w, cfg)
	if err := client.OpenEndpoint(server.l.Addr(), netio.Params{ConnectTimeout: backendtest.Patience}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	next(t, "OnConnectionEstablished", w.Established)
	next(t, "OnConnectionEstablished", server.Established)
	check()
	fewest, largest := max(0, all-places-most), max(0, all-most)
	for int(server.b.Stats().AcceptErrors) < fewest { // the last ones are about to end
		onLoop(t, server.b.Loop(), func() {})
		check()
	}
	if got := server.b.Stats(); got.Accepted != 1 || int(got.AcceptErrors) < fewest || int(got.AcceptErrors) > largest {
		t.Errorf("Stats: got %d accepted and %d failed, want 1 and %d to %d", got.Accepted, got.AcceptErrors, fewest, largest)
	}
}

// TestTLS_silentStrangersTakeNoPlace, and end after HandshakeTimeout.
func TestTLS_silentStrangersTakeNoPlace(t *testing.T) {
	cfg := withTLS(t, tcp.Config{Logger: quiet})
	cfg.TLS.MaxHandshakes = 1
	server := serve(t, newWatcher(), cfg, netio.Params{})
	for _, says := range []string{"", "\x16", "\x16\x03"} {
		write(t, dialRaw(t, server.l.Addr()), []byte(says))
	}
	dialSecure(t, cfg, server)
	next(t, "OnConnectionEstablished", server.Established)
	if busy, waiting, _ := tcp.Handshakes(server.b); busy+waiting != 0 {
		t.Errorf("handshakes: got %d and %d in line, want none", busy, waiting)
	}
	hasty := cfg
	hasty.TLS = tlsOf(nil, nil)
	hasty.TLS.HandshakeTimeout = 50 * time.Millisecond
	log := newLogbook()
	hasty.Logger = log.logger()
	impatient := serve(t, newWatcher(), hasty, netio.Params{})
	c := dialRaw(t, impatient.l.Addr())
	if n, err := c.Read(make([]byte, 1)); err != io.EOF { //nolint:errorlint // bare, as net.Conn returns it
		t.Errorf("a silent stranger: got %d bytes and error %v, want the end", n, err)
	}
	if got, want := log.reason(t), netio.ErrTimeout.Error()+": the peer has sent nothing"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestTLS_aHandshakeHasATime at both ends.
func TestTLS_aHandshakeHasATime(t *testing.T) {
	ca := pki.New(t, "ca")
	c := ca.Issue(t, "peer", nil)
	cfg := tcp.Config{TLS: tlsOf(clientConfig(ca, c), serverConfig(ca, c))}
	cfg.TLS.HandshakeTimeout = 50 * time.Millisecond
	log := newLogbook()
	cfg.Logger = log.logger()
	const want = "tcp: the TLS handshake failed: netio: timed out"
	t.Run("a client that stops", func(t *testing.T) {
		server := serve(t, newWatcher(), cfg, netio.Params{})
		write(t, dialRaw(t, server.l.Addr()), hello(t, &tls.Config{InsecureSkipVerify: true})[:100])
		if got := log.reason(t); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	t.Run("a server that says nothing", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatalf("listen: got error %v, want none", err)
		}
		defer l.Close()
		w := newWatcher()
		client := openBackend(t, w, cfg)
		if err := client.OpenEndpoint(addrOf(t, l.Addr()), netio.Params{}); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
		if got := strip(next(t, "OnConnectionRefused", w.Refused).Error()); got != "netio: open endpoint ADDR: "+want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

// TestTLS_strangersMakeWayForOthers when there are as many connections as may be.
func TestTLS_strangersMakeWayForOthers(t *testing.T) {
	cfg := withTLS(t, tcp.Config{Logger: quiet, MaxEndpoints: 3})
	server := serve(t, newWatcher(), cfg, netio.Params{})
	var strangers []net.Conn
	for range cfg.MaxEndpoints {
		strangers = append(strangers, dialRaw(t, server.l.Addr()))
	}
	for tcp.Strangers(server.b) < cfg.MaxEndpoints {
		onLoop(t, server.b.Loop(), func() {})
	}
	old := time.Now()
	for time.Since(old) < tcp.YieldAfter { // they have had their time
		onLoop(t, server.b.Loop(), func() {})
	}
	dialSecure(t, cfg, server)
	if n, err := strangers[0].Read(make([]byte, 1)); err != io.EOF { //nolint:errorlint // bare, as net.Conn returns it
		t.Errorf("the oldest stranger: got %d bytes and error %v, want the end", n, err)
	}
	if got := server.b.Stats().AcceptShed; got != 1 {
		t.Errorf("AcceptShed: got %d, want 1", got)
	}
}

// TestTLS_strangersMakeWayForDescriptors: when the process has none left the oldest stranger ends, and
// not those that come.
func TestTLS_strangersMakeWayForDescriptors(t *testing.T) {
	server := serve(t, newWatcher(), withTLS(t, tcp.Config{Logger: quiet}), netio.Params{})
	const all = 3
	var strangers []net.Conn
	for range all {
		strangers = append(strangers, dialRaw(t, server.l.Addr()))
	}
	for tcp.Strangers(server.b) < all {
		onLoop(t, server.b.Loop(), func() {})
	}
	for old := time.Now(); time.Since(old) < tcp.YieldAfter; { // they have had their time
		onLoop(t, server.b.Loop(), func() {})
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatalf("socket: got error %v, want none", err)
	}
	defer unix.Close(fd)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatalf("Getrlimit: got error %v, want none", err)
	}
	few := limit
	few.Cur = uint64(fd + 8)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatalf("Setrlimit: got error %v, want none", err)
	}
	var taken []int
	for n, err := unix.Dup(fd); err == nil; n, err = unix.Dup(fd) {
		taken = append(taken, n)
	}
	err = unix.Connect(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: int(server.l.Addr().Port())})
	if n, err := strangers[0].Read(make([]byte, 1)); err != io.EOF { //nolint:errorlint // bare, as net.Conn returns it
		t.Errorf("the oldest stranger: got %d bytes and error %v, want the end", n, err)
	}
	for range 2 {
		onLoop(t, server.b.Loop(), func() {})
	}
	for _, n := range taken {
		_ = unix.Close(n)
	}
	if err := errors.Join(err, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)); err != nil {
		t.Fatalf("connect, Setrlimit: got error %v, want none", err)
	}
	if got := server.b.Stats().AcceptShed; got != 1 {
		t.Errorf("AcceptShed: got %d, want 1", got)
	}
	if got := tcp.Strangers(server.b); got != all {
		t.Errorf("strangers: got %d, want %d: the youngest, and the one that came", got, all)
	}
	if n, _, err := unix.Recvfrom(fd, make([]byte, 1), unix.MSG_DONTWAIT); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("the one that came: got %d bytes and error %v, want it to wait", n, err)
	}
}

// TestTLS_manyConnectAtOnce: all get in, whatever the places. One whose processor is taken away
// in the middle of its handshake gives its place to another, and connects again.
func TestTLS_manyConnectAtOnce(t *testing.T) {
	cfg := withTLS(t, tcp.Config{})
	cfg.TLS.MaxHandshakes = 4
	server := serve(t, newWatcher(), cfg, netio.Params{})
	all := testkit.Fewer(100)
	clients := newWatcher()
	connect := func() {
		client := openBackend(t, clients, cfg)
		if err := client.OpenEndpoint(server.l.Addr(), netio.Params{ConnectTimeout: backendtest.Patience}); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
	}
	for range all {
		connect()
	}
	for established := 0; established < all; {
		select {
		case <-server.Established:
			established++
		case err := <-clients.Refused:
			t.Logf("refused: %v", err)
			connect()
		case <-clients.Closed:
			connect()
		case <-time.After(backendtest.Patience):
			t.Fatalf("established: got %d and nothing more for %v, want %d", established, backendtest.Patience, all)
		}
	}
}

// TestBackend_Close_endsHandshakes of both sides, at each of their stages.
func TestBackend_Close_endsHandshakes(t *testing.T) {
	cfg := withTLS(t, tcp.Config{Logger: quiet})
	cfg.TLS.MaxHandshakes = 2
	cfg.TLS.HandshakeTimeout = time.Hour
	first := hello(t, &tls.Config{InsecureSkipVerify: true})
	b := openBackend(t, newWatcher(), cfg)
	l, err := b.OpenListenEndpoint(loopback, netio.Params{})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: got error %v, want none", err)
	}
	defer silent.Close()
	for i := range 6 {
		write(t, dialRaw(t, l.Addr()), first[:min(i*3, 9)])
	}
	if err := b.OpenEndpoint(addrOf(t, silent.Addr()), netio.Params{}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	for busy, waiting, parked := 0, 0, 0; busy+waiting+parked < 4; busy, waiting, parked = tcp.Handshakes(b) {
		onLoop(t, b.Loop(), func() {})
	}
	if err := b.Close(); err != nil {
		t.Errorf("Close: got error %v, want none", err)
	}
	if busy, waiting, parked := tcp.Handshakes(b); busy+waiting+parked != 0 {
		t.Errorf("behind Close: got %d handshakes, %d in line and %d parked, want none", busy, waiting, parked)
	}
	if used, _ := tcp.BackendBytes(b); used > 0 {
		t.Errorf("behind Close: got %d bytes in use, want none", used)
	}
}

// TestTLS_strangersChooseNoDearCurve: a handshake with P-521 costs this side many times what it
// costs with X25519.
func TestTLS_strangersChooseNoDearCurve(t *testing.T) {
	ca := pki.New(t, "ca")
	good := ca.Issue(t, "good", nil)
	cfg := withTLSOf(ca, good)
	cfg.Logger = quiet
	server := serve(t, newWatcher(), cfg, netio.Params{})
	for curve, let := range map[tls.CurveID]bool{
		tls.X25519MLKEM768: true, tls.X25519: true, tls.CurveP256: true, tls.CurveP384: false, tls.CurveP521: false,
	} {
		c := clientConfig(ca, good)
		c.NextProtos, c.CurvePreferences = []string{tcp.TLSProtocol}, []tls.CurveID{curve}
		conn := tls.Client(dialRaw(t, server.l.Addr()), c)
		if _, err := conn.Read(make([]byte, 4)); (err == nil) != let {
			t.Errorf("%v: got error %v, want it to be let in: %t", curve, err, let)
		}
	}
}
