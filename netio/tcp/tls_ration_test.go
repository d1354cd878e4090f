// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"crypto/tls"
	"slices"
	"testing"
	"time"

	"tagbus/internal/testkit/backendtest"
	"tagbus/internal/testkit/pki"
	"tagbus/netio"
	"tagbus/netio/tcp"
)

// TestTLS_theRationOfHandshakes: what fails may use a sixteenth of the processors over time, and
// what succeeds any.
func TestTLS_theRationOfHandshakes(t *testing.T) {
	now := time.Unix(0, 0)
	r := tcp.NewRation(16, func() time.Time { return now })
	if got := r.Workers(); got != 4 {
		t.Errorf("workers: got %d of 16 processors, want a quarter", got)
	}
	if got := tcp.NewRation(1, time.Now).Workers(); got != 1 {
		t.Errorf("workers: got %d of one processor, want 1", got)
	}
	const each = time.Millisecond
	begin := func() (n int) { // as many as may
		for ; r.Wait() == 0; n++ {
			r.Pay(each)
		}
		return n
	}
	if got := begin(); got != 500 {
		t.Errorf("at first: got %d handshakes of %v, want half a second of a processor", got, each)
	}
	failed := 0
	for range 1000 {
		now = now.Add(10 * time.Millisecond)
		failed += begin()
	}
	if failed < 9_900 || failed > 10_100 {
		t.Errorf("in 10 s: got %d handshakes of %v, want one processor", failed, each)
	}
	wait := r.Wait()
	if wait <= 0 || wait > 10*time.Millisecond {
		t.Errorf("wait: got %v, want what the debt takes", wait)
	}
	now = now.Add(wait)
	if got := r.Wait(); got != 0 {
		t.Errorf("behind the wait: got %v more, want none", got)
	}
	for range 10_000 { // they succeed
		if got := r.Wait(); got != 0 {
			t.Fatalf("others succeed: got a wait of %v, want none", got)
		}
		r.Pay(each / 10)
		r.Pay(-each / 10)
	}
	now = now.Add(time.Hour)
	if got := begin(); got != 500 {
		t.Errorf("after an hour: got %d handshakes, want no more than at first", got)
	}
}

// TestTLS_theRationHasNoLongDebt: whatever handshakes have cost, others wait for a short time.
func TestTLS_theRationHasNoLongDebt(t *testing.T) {
	now := time.Unix(0, 0)
	r := tcp.NewRation(2, func() time.Time { return now })
	for range 64 {
		r.Pay(20 * time.Millisecond)
	}
	if got := r.Wait(); got <= 0 || got > 501*time.Millisecond {
		t.Errorf("got a wait of %v, want half a second", got)
	}
}

// TestTLS_theRationCountsWhatIsUnderWay, which has not been paid.
func TestTLS_theRationCountsWhatIsUnderWay(t *testing.T) {
	now := time.Unix(0, 0)
	r := tcp.NewRation(2, func() time.Time { return now })
	begun := 0
	for r.WaitBeside(begun) == 0 && begun < 64 {
		begun++
	}
	if begun != 32 {
		t.Errorf("got %d handshakes at once of two processors, want 32", begun)
	}
	if got := r.WaitBeside(begun); got <= 0 || got > 100*time.Millisecond {
		t.Errorf("got a wait of %v, want that for one handshake", got)
	}
}

// TestTLS_strangersBeginInPart: not all places are taken at once that the ration does not pay for.
func TestTLS_strangersBeginInPart(t *testing.T) {
	ca := pki.New(t, "ca")
	good := ca.Issue(t, "good", nil)
	cfg := withTLSOf(ca, good)
	cfg.Logger = quiet
	server := serve(t, newWatcher(), cfg, netio.Params{})
	tcp.Starve(server.b, 0.01)
	first := hello(t, clientConfig(ca, good))
	for range 20 {
		write(t, dialRaw(t, server.l.Addr()), first)
	}
	for all := 0; all < 20; {
		busy, waiting, parked := tcp.Handshakes(server.b)
		if busy > 3 {
			t.Fatalf("got %d handshakes at once, want at most 3", busy)
		}
		all = busy + waiting + parked
		onLoop(t, server.b.Loop(), func() {})
	}
}

// TestTLS_aLongHandshakeEnds: a stranger may send any number of certificates.
func TestTLS_aLongHandshakeEnds(t *testing.T) {
	ca := pki.New(t, "ca")
	good := ca.Issue(t, "good", nil)
	log := newLogbook()
	cfg := withTLSOf(ca, good)
	cfg.Logger = log.logger()
	server := serve(t, newWatcher(), cfg, netio.Params{})
	long := func(bytes int) *tls.Config {
		own := good
		own.Certificate = slices.Clone(good.Certificate)
		for sent := 0; sent < bytes; sent += len(good.Certificate[0]) {
			own.Certificate = append(own.Certificate, good.Certificate[0])
		}
		c := clientConfig(ca, own)
		c.NextProtos = []string{tcp.TLSProtocol}
		return c
	}
	if _, err := tls.Client(dialRaw(t, server.l.Addr()), long(40<<10)).Read(make([]byte, 4)); err != nil {
		t.Errorf("40 KiB of certificates: got error %v, want none", err)
	}
	if _, err := tls.Client(dialRaw(t, server.l.Addr()), long(200<<10)).Read(make([]byte, 4)); err == nil {
		t.Error("200 KiB of certificates: got no error, want the end")
	}
	if got, want := log.reason(t), "tcp: the TLS handshake failed: "+tcp.ErrLongHandshake.Error(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestTLS_theLineTakesTurns by network, then by address, then in order.
func TestTLS_theLineTakesTurns(t *testing.T) {
	var l tcp.Line
	for _, remote := range []string{
		"10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.1",
		"2001:db8:0:1::1", "2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:1::3",
		"::ffff:10.0.0.1", "10.0.0.2", "fe80::1%eth0",
	} {
		l.Add(remote)
	}
	l.Remove(2)
	var got []int
	for at := l.Next(); at >= 0; at = l.Next() {
		got = append(got, at)
	}
	if want := []int{0, 4, 9, 10, 1, 6, 3, 7, 8, 5}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := l.Networks(); got != 0 {
		t.Errorf("networks of an empty line: got %d, want none", got)
	}
}

// TestTLS_strangersWaitForTheRation, and an honest peer with them, which gets in then. What was
// closed meanwhile costs nothing.
func TestTLS_strangersWaitForTheRation(t *testing.T) {
	ca := pki.New(t, "ca")
	good := ca.Issue(t, "good", nil)
	log := newLogbook()
	cfg := withTLSOf(ca, good)
	cfg.Logger = log.logger()
	server := serve(t, newWatcher(), cfg, netio.Params{})
	tcp.Exhaust(server.b, time.Hour)
	gone := dialRaw(t, server.l.Addr())
	write(t, gone, hello(t, clientConfig(ca, good)))
	_ = gone.Close()
	if got, want := log.reason(t), "unexpected EOF: the peer has closed the connection; its log says why"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	w := newWatcher()
	client := openBackend(t, w, cfg)
	if err := client.OpenEndpoint(server.l.Addr(), netio.Params{ConnectTimeout: backendtest.Patience}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	for waiting := 0; waiting == 0; _, waiting, _ = tcp.Handshakes(server.b) {
		onLoop(t, server.b.Loop(), func() {})
	}
	tcp.Exhaust(server.b, -2*time.Hour)
	dialSecure(t, cfg, server) // looks at the ration, too
	next(t, "OnConnectionEstablished", w.Established)
}
