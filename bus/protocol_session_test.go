// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
	"tagbus/bus/internal/wire/wiretest"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
	"tagbus/subscription"
	"tagbus/tags"
)

// sessionPublisher opens a publisher of tags 5 and 6 over TCP and returns its
// address.
func sessionPublisher(t *testing.T) (*Publisher, string) {
	t.Helper()
	loop, err := reactor.New(reactor.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(context.Background()) }()
	dir := memory.New()
	p, err := NewPublisher(tcp.Opener(loop, tcp.Config{}), dir, PublisherConfig{
		Tags:      tags.Of(5, 6),
		Listening: Listening{Listen: netip.MustParseAddrPort("127.0.0.1:0")},
		Sending: Sending{
			FlushInterval: time.Hour, // what is published together stays together
		},
		Common: Common{
			HeartbeatInterval: HeartbeatsOff, // however slow the test is
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := p.Close()
		loop.Stop()
		if err := errors.Join(err, <-ended, loop.Close(), dir.Close()); err != nil {
			t.Error(err)
		}
	})
	entries, err := dir.List()
	if err != nil || len(entries) != 1 {
		t.Fatalf("got entries %v, %v want one", entries, err)
	}
	return p, entries[0].Addresses[0].String()
}

// stranger is a peer that speaks the protocol by hand.
type stranger struct {
	net.Conn
	t *testing.T
}

func dialStranger(t *testing.T, addr string) stranger {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return stranger{c, t}
}

func (s stranger) send(b []byte) {
	s.t.Helper()
	if _, err := s.Write(b); err != nil {
		s.t.Fatal(err)
	}
}

// expect reads exactly the bytes want.
func (s stranger) expect(want []byte) {
	s.t.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(s, got)
	if !bytes.Equal(got, want) {
		s.t.Fatalf("got %x, %v\nwant %x", got[:n], err, want)
	}
}

// message reads one frame.
func (s stranger) message() []byte {
	s.t.Helper()
	var n uint32
	if err := binary.Read(s, binary.LittleEndian, &n); err != nil {
		s.t.Fatal(err)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(s, b); err != nil {
		s.t.Fatal(err)
	}
	return b
}

func (s stranger) expectHello() subscription.Hello {
	s.t.Helper()
	h, err := subscription.DecodeHello(s.message())
	if err != nil {
		s.t.Fatal(err)
	}
	return h
}

// expectEnd waits until the peer has closed.
func (s stranger) expectEnd() {
	s.t.Helper()
	rest, err := io.ReadAll(s)
	var timeout net.Error
	if len(rest) > 0 || errors.As(err, &timeout) && timeout.Timeout() {
		s.t.Errorf("got %x, %v want the end", rest, err)
	}
}

// The session of docs/protocol.md, byte for byte, with a subscriber that knows
// nothing but that page.
func TestPublisher_theDocumentedSession(t *testing.T) {
	p, addr := sessionPublisher(t)
	v := vectors(t)
	publish := func(tag tags.Tag, status Status, data string) {
		t.Helper()
		if err := p.PublishStatus(tag, status, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	publish(5, 0, "nobody wants this")
	publish(5, 0, "nor this")

	s := dialStranger(t, addr)
	s.send(v["session-1-subscriber"])
	if h := s.expectHello(); h.Instance != p.Instance() || h.MaxMessageBytes != subscription.TakesDropped {
		t.Errorf("got hello %+v, want one of %s that takes %d bytes", h, p.Instance(), subscription.TakesDropped)
	}
	s.send(v["session-2-subscriber"])
	s.expect(v["session-3-publisher"])
	publish(5, 0, "abc")
	publish(6, 7, "d")
	drained := make(chan error, 1)
	go func() { drained <- p.Drain(t.Context()) }()
	s.expect(v["session-4-publisher"])
	s.send(v["session-5-subscriber"])
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

// The session of an observer of docs/protocol.md.
func TestPublisher_theDocumentedSessionOfAnObserver(t *testing.T) {
	p, addr := sessionPublisher(t)
	v := vectors(t)
	s := dialStranger(t, addr)
	s.send(v["session-observe-1-observer"])
	if h := s.expectHello(); h.Instance != p.Instance() || h.BeatMillis != 0 || h.MaxMessageBytes != subscription.TakesDropped {
		t.Errorf("got hello %+v, want one of %s without an interval", h, p.Instance())
	}
	s.send(v["session-observe-2-observer"])
	s.expect(v["session-observe-3-publisher"])
	s.send(v["session-observe-4-observer"])
	var text []byte
	for more := true; more; {
		m, err := subscription.Decode(s.message())
		part, ok := m.(*subscription.Description)
		if err != nil || !ok || part.ID != 8 {
			t.Fatalf("got %+v and error %v, want a part of the answer to question 8", m, err)
		}
		text, more = append(text, part.Part...), part.More
	}
	var state struct {
		Instance string `json:"instance"`
	}
	if err := json.Unmarshal(text, &state); err != nil || state.Instance != p.Instance() || !bytes.HasPrefix(text, v["answer-begin"]) {
		t.Errorf("got %.200s and error %v, want the state of %s that begins with %s", text, err, p.Instance(), v["answer-begin"])
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	s.expectEnd()
}

// The session of docs/protocol.md in the other direction, with a receiver that
// knows nothing but that page.
func TestSender_theDocumentedSessionToAReceiver(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	loop, err := reactor.New(reactor.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(context.Background()) }()
	dir := memory.New()
	s, err := NewSender(tcp.Opener(loop, tcp.Config{}), dir, SenderConfig{Tags: tags.Of(5, 6)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := s.Close()
		loop.Stop()
		if err := errors.Join(err, <-ended, loop.Close(), dir.Close()); err != nil {
			t.Error(err)
		}
	})
	_, err = dir.Announce(directory.Entry{
		Instance: "demo", Role: directory.Receiver, Backend: "tcp", Tags: tags.Of(5, 6),
		Addresses: []netip.AddrPort{listener.Addr().(*net.TCPAddr).AddrPort()}, PageBytes: 64 << 20, MaxMessageBytes: 64 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := acceptStranger(t, listener)
	v := vectors(t)
	if h := r.expectHello(); h.Instance != s.Instance() || h.Expect != "demo" || h.Role != subscription.RoleSender || h.MaxMessageBytes != subscription.TakesDropped {
		t.Errorf("got hello %+v, want one of the sender %s to demo", h, s.Instance())
	}
	r.send(v["session-back-1-receiver"])
	sent := make(chan error, 1)
	go func() { sent <- s.SendAcked(t.Context(), 5, []byte("abc")) }()
	r.expect(v["session-back-2-sender"])
	r.send(v["session-back-3-receiver"])
	if err := <-sent; err != nil {
		t.Error(err)
	}
	drained := make(chan error, 1)
	go func() { drained <- s.Drain(t.Context()) }()
	r.expect(v["session-back-4-sender"])
	r.send(v["session-back-5-receiver"])
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := <-drained; err != nil {
		t.Error(err)
	}
}

// acceptStranger waits for a connection that is served by hand.
func acceptStranger(t *testing.T, listener net.Listener) stranger {
	t.Helper()
	if err := listener.(*net.TCPListener).SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	c, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return stranger{c, t}
}

// framed puts a length in front of a message.
func framed(message []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(message))), message...)
}

func TestPublisher_theDocumentedRefusals(t *testing.T) {
	_, addr := sessionPublisher(t)
	v := vectors(t)
	tests := []struct {
		name   string
		send   []byte
		after  bool // a good hello, which is answered
		answer bool // Refused without id
	}{
		{"a length of 0", []byte{0, 0, 0, 0}, false, false},
		{"a length of 2^31", []byte{0, 0, 0, 0x80}, false, false},
		{"a length of 2^32-1", []byte{0xff, 0xff, 0xff, 0xff}, false, false},
		{"a first frame above 4,096 bytes", []byte{0x01, 0x10, 0, 0}, false, false},
		{"HTTP without a frame", v["bad-hello-http"], false, false},
		{"HTTP in a frame", framed(v["bad-hello-http"]), false, false},
		{"a TLS hello", wiretest.Unhex(t, "16030100ba010000b60303a1b2c3d4e5f6"), false, false},
		{"another version", framed(v["bad-hello-version"]), false, false},
		{"an unknown field in the hello", framed(v["bad-hello-field"]), false, true},
		{"another instance expected", framed(v["hello-full"]), false, true},
		{"too small for the pages", framed(v["hello-small"]), false, true},
		{"a frame above 16,384 bytes", []byte{0x01, 0x40, 0, 0}, true, false},
		{"a control message that announces 4 GiB", framed(v["bad-control-length"]), true, false},
		{"a negative id", framed(v["bad-control-negative"]), true, false},
		{"an unknown kind", framed(v["bad-control-kind"]), true, false},
		{"a kind of the publisher", framed(v["subscribed"]), true, false},
		{"a page", framed(v["page"]), true, false},
		{"a second hello", v["session-1-subscriber"], true, false},
		{"a set that is none", framed(wiretest.Unhex(t, "1082 a2696401 a3736574c403 020000")), true, false},
		{"an unsubscribe within a group", slices.Concat(framed(v["subscribe-group"]), framed(v["unsubscribe"])), true, false},
		{"a question of a subscriber", framed(v["describe"]), true, false},
		{"pieces of two sets", slices.Concat(framed(v["subscribe-more"]), framed(v["subscribe"])), true, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := dialStranger(t, addr)
			if test.after {
				s.send(v["session-1-subscriber"])
				s.expectHello()
			}
			s.send(test.send)
			if test.name == "another version" {
				s.expectHello() // which shows ours
			}
			if test.answer {
				m, err := subscription.Decode(s.message())
				r, ok := m.(*subscription.Refused)
				if !ok || r.ID != 0 || r.Reason == "" {
					t.Errorf("got %v, %v want Refused with a reason", m, err)
				}
			}
			if test.name == "a TLS hello" {
				if alert, err := io.ReadAll(io.LimitReader(s, 7)); !bytes.Equal(alert, plainAlert) {
					t.Errorf("got %x, %v want the alert %x", alert, err, plainAlert)
				}
			}
			s.expectEnd()
		})
	}
}

// plainAlert answers a TLS hello: a fatal alert, protocol version.
var plainAlert = []byte{0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46}
