// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/pki"
	"tagbus/netio"
	"tagbus/netio/tcp"
)

// The attacks of peers and strangers on a listener with TLS, and what they cost an honest
// peer beside them: figures for docs/security.md.

// lateness is how late the messages of an honest peer are, which sends one each
// millisecond for a time, while the attack runs.
func lateness(t *testing.T, server *served, ca *pki.Authority, lasts time.Duration, attack func(stop <-chan struct{})) (all []time.Duration) {
	t.Helper()
	good := ca.Issue(t, "honest", nil)
	c, _ := dialTLS(t, server, ca, good)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); attack(stop) }()
	began := time.Now()
	sent := make(chan int, 1)
	go func() {
		n := 0
		for ; time.Since(began) < lasts; n++ {
			<-time.After(time.Until(began.Add(time.Duration(n) * time.Millisecond)))
			if _, err := c.Write(frame(binary.LittleEndian.AppendUint64([]byte("honest: "), uint64(n)))); err != nil {
				break
			}
		}
		sent <- n
	}()
	n := -1
	for n < 0 || len(all) < n {
		select {
		case m := <-server.Data:
			if len(m) == 16 {
				due := began.Add(time.Duration(binary.LittleEndian.Uint64(m[8:])) * time.Millisecond)
				all = append(all, time.Since(due))
			}
		case n = <-sent:
		case <-time.After(time.Minute):
			t.Fatalf("got %d messages of %d", len(all), n)
		}
	}
	close(stop)
	<-done
	return all
}

// figures says the median, a high percentile and the largest.
func figures(t *testing.T, what string, all []time.Duration) {
	t.Helper()
	slices.Sort(all)
	at := func(x float64) time.Duration { return all[int(x*float64(len(all)-1))].Round(10 * time.Microsecond) }
	t.Logf("%s: %d messages, late by p50 %v, p99 %v, at most %v", what, len(all), at(0.5), at(0.99), at(1))
}

// TestTLS_keyUpdateFlood: connections with a certificate that counts, which send 16 KeyUpdates
// before each message.
func TestTLS_keyUpdateFlood(t *testing.T) {
	if !testkit.All() || testkit.Race {
		t.Skip("left out under the race detector, and without TAGBUS_TESTS=all: it measures")
	}
	const rate, lasts = 20, 3 * time.Second
	for _, connections := range []int{0, 32, 280} {
		ca := pki.New(t, "ca")
		good := ca.Issue(t, "good", nil)
		w := newWatcher()
		server := serve(t, w, tcp.Config{TLS: tlsOf(clientConfig(ca, good), serverConfig(ca, good)), Logger: quiet}, netio.Params{})
		var forgers []*forger
		var sealed [][][]byte
		for range connections {
			f, _ := dialForger(t, server, ca, good)
			forgers = append(forgers, f)
			var batches [][]byte
			for range int(lasts.Seconds() * rate) {
				batches = append(batches, f.updates(16, 0, []byte("x")))
			}
			sealed = append(sealed, batches)
		}
		alive := 0
		all := lateness(t, server, ca, lasts, func(stop <-chan struct{}) {
			began := time.Now()
			for i := range int(lasts.Seconds() * rate) {
				alive = 0
				for k, f := range forgers {
					if _, err := f.Write(sealed[k][i]); err == nil {
						alive++
					}
				}
				select {
				case <-time.After(time.Until(began.Add(time.Duration(i+1) * time.Second / rate))):
				case <-stop:
					return
				}
			}
		})
		figures(t, "KeyUpdates", all)
		t.Logf("of %d connections %d are left", connections, alive)
	}
}

// floods are what strangers do with each of their connections.
var floods = []string{"connect", "hello, close", "hello, stay"}

// TestTLS_helloFlood: 5,500 connections a second from another process, whose first bytes cost
// a handshake or nothing.
func TestTLS_helloFlood(t *testing.T) {
	if !testkit.All() || testkit.Race {
		t.Skip("left out under the race detector, and without TAGBUS_TESTS=all: it measures")
	}
	const lasts = 3 * time.Second
	for _, way := range append([]string{"nothing"}, floods...) {
		ca := pki.New(t, "ca")
		good := ca.Issue(t, "good", nil)
		server := serve(t, newWatcher(), tcp.Config{TLS: tlsOf(clientConfig(ca, good), serverConfig(ca, good)), Logger: quiet}, netio.Params{})
		cpu := processorTime(t)
		all := lateness(t, server, ca, lasts, func(stop <-chan struct{}) {
			if way == "nothing" {
				<-stop
				return
			}
			c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=TestTLS_flooder")
			c.Env = append(os.Environ(), "FLOOD="+way, "FLOOD_ADDR="+server.l.Addr().String())
			c.Stderr = os.Stderr
			if err := c.Start(); err != nil {
				t.Errorf("start: got error %v, want none", err)
				return
			}
			<-stop
			_ = c.Process.Kill()
			_ = c.Wait()
		})
		cpu = processorTime(t) - cpu
		figures(t, way, all)
		began := time.Now()
		dialSecure(t, withTLSOf(ca, good), server)
		t.Logf("%v of processor time in %v; %+v; an honest peer gets in in %v", cpu.Round(time.Millisecond), lasts, server.b.Stats(), time.Since(began).Round(100*time.Microsecond))
	}
}

// withTLSOf is withTLS with a certificate.
func withTLSOf(ca *pki.Authority, c tls.Certificate) tcp.Config {
	return tcp.Config{TLS: tlsOf(clientConfig(ca, c), serverConfig(ca, c))}
}

// TestTLS_flooder is the process of strangers.
func TestTLS_flooder(t *testing.T) {
	way, to := os.Getenv("FLOOD"), os.Getenv("FLOOD_ADDR")
	if way == "" {
		t.Skip("left out without TAGBUS_TESTS=all: it is a part of TestTLS_helloFlood")
	}
	first := hello(t, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{tcp.TLSProtocol}})
	var open []net.Conn
	began := time.Now()
	n := 0
	for ; time.Since(began) < 10*time.Second; n++ {
		if n%1000 == 999 {
			fmt.Fprintln(os.Stderr, way, n, time.Since(began))
		}
		<-time.After(time.Until(began.Add(time.Duration(n) * time.Second / 5500)))
		c, err := net.Dial("tcp", to)
		if err != nil {
			continue
		}
		if way != "connect" {
			_, _ = c.Write(first)
		}
		if open = append(open, c); len(open) > 1000 || way != "hello, stay" {
			_ = open[0].Close()
			open = open[1:]
		}
	}
}
