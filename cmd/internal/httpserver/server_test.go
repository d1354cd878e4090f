// SPDX-License-Identifier: Apache-2.0

package httpserver_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tagbus/cmd/internal/httpserver"
	"tagbus/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bed is a server whose handler waits on request.
type bed struct {
	t       *testing.T
	addr    string
	asked   chan struct{} // /wait has been asked for
	release chan struct{} // closed: it is answered
	accepts chan struct{} // the server waits for a connection: it has admitted those before, or has closed them
}

// listener says when it is asked for a connection.
type listener struct {
	net.Listener
	accepts chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	l.accepts <- struct{}{}
	return l.Listener.Accept()
}

func newBed(t *testing.T, connections int) *bed {
	t.Helper()
	b := &bed{t: t, asked: make(chan struct{}, 100), release: make(chan struct{}), accepts: make(chan struct{}, 100)}
	mux := http.NewServeMux()
	mux.HandleFunc("/now", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "now") })
	mux.HandleFunc("/wait", func(w http.ResponseWriter, _ *http.Request) {
		b.asked <- struct{}{}
		<-b.release
		_, _ = io.WriteString(w, "waited")
	})
	s := httpserver.New(httpserver.Config{Handler: mux, Connections: connections, Patience: time.Minute, Idle: time.Minute})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.Must(t, err)
	b.addr = l.Addr().String()
	ended := make(chan error)
	go func() { ended <- s.Serve(&listener{l, b.accepts}) }()
	<-b.accepts
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: got %v, want %v", err, http.ErrServerClosed)
		}
	})
	return b
}

// client is one connection.
type client struct {
	*bed
	conn net.Conn
	in   *bufio.Reader
}

func (b *bed) dial() *client {
	b.t.Helper()
	c, err := net.Dial("tcp", b.addr)
	testkit.Must(b.t, err)
	<-b.accepts
	b.t.Cleanup(func() { _ = c.Close() })
	testkit.Must(b.t, c.SetDeadline(time.Now().Add(30*time.Second)))
	return &client{b, c, bufio.NewReader(c)}
}

func (c *client) write(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, text); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) ask(path string) {
	c.t.Helper()
	c.write("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n")
}

func (c *client) answer(want string) {
	c.t.Helper()
	r, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.t.Fatalf("got %v, want %q", err, want)
	}
	got, err := io.ReadAll(r.Body)
	if err != nil || string(got) != want {
		c.t.Errorf("got %q and %v, want %q", got, err, want)
	}
}

// ended waits for the end of the connection.
func (c *client) ended() {
	c.t.Helper()
	n, err := c.in.Read(make([]byte, 1))
	if timeout := net.Error(nil); n > 0 || err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		c.t.Errorf("got %d bytes and %v, want the end", n, err)
	}
}

// TestTheOldestIdleConnectionGivesWay, whatever it has begun to say, and one that is being
// answered does not.
func TestTheOldestIdleConnectionGivesWay(t *testing.T) {
	b := newBed(t, 4)
	busy := b.dial()
	busy.ask("/wait")
	<-b.asked
	silent := b.dial()
	kept := b.dial()
	kept.ask("/now")
	kept.answer("now")
	half := b.dial()
	half.write("GET /now HTTP/1.1\r\nHo")
	kept.ask("/now") // now it is the youngest
	kept.answer("now")
	for _, first := range []*client{silent, half, kept} {
		c := b.dial()
		c.ask("/now")
		c.answer("now")
		first.ended()
	}
	close(b.release)
	busy.answer("waited")
	busy.ask("/now") // goes on
	busy.answer("now")
}

// TestWhenAllAreAnsweredTheNewConnectionEnds.
func TestWhenAllAreAnsweredTheNewConnectionEnds(t *testing.T) {
	b := newBed(t, 2)
	var all []*client
	for range 2 {
		c := b.dial()
		c.ask("/wait")
		<-b.asked
		all = append(all, c)
	}
	b.dial().ended()
	close(b.release)
	for _, c := range all {
		c.answer("waited")
	}
	c := b.dial()
	c.ask("/now")
	c.answer("now")
}
