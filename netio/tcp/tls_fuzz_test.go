// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"crypto/tls"
	"io"
	"slices"
	"testing"

	"tagbus/netio"
	"tagbus/netio/tcp"
)

// FuzzTLSListener sends any bytes to a backend with TLS. No stranger gets in, none makes
// it hold anything behind its end, and one that knows the way still gets in.
func FuzzTLSListener(f *testing.F) {
	cfg := withTLS(f, tcp.Config{Logger: quiet})
	server := serve(f, newWatcher(), cfg, netio.Params{})
	whole := hello(f, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{tcp.TLSProtocol}})
	f.Add([]byte(nil))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add(frame([]byte("a plain hello")))
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add(slices.Concat(whole, whole))
	f.Add(slices.Concat(whole, []byte{20, 3, 3, 0, 1, 1}, []byte{23, 3, 3, 0xff, 0xff}, make([]byte, 100)))
	f.Add(slices.Concat(whole, []byte{21, 3, 3, 0, 2, 2, 48}))
	f.Add([]byte{22, 3, 1, 0xff, 0xff, 1, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, sent []byte) {
		c := dialRaw(t, server.l.Addr())
		_, _ = c.Write(sent) // the listener may have seen enough
		_ = c.CloseWrite()
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
		if got := len(server.Established); got != 0 {
			t.Fatalf("OnConnectionEstablished: got %d, want none", got)
		}
		for range 2 { // behind its end
			onLoop(t, server.b.Loop(), func() {})
		}
		busy, waiting, _ := tcp.Handshakes(server.b)
		if strangers := tcp.Strangers(server.b); strangers+waiting != 0 || busy > 1 {
			t.Errorf("behind its end: got %d strangers, %d handshakes and %d in line, want none", strangers, busy, waiting)
		}
		w, ep := dialSecure(t, cfg, server)
		next(t, "OnConnectionEstablished", server.Established)
		_ = ep.Close()
		next(t, "OnConnectionClosed", w.Closed)
		next(t, "OnConnectionClosed", server.Closed)
	})
}
