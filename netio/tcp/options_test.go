package tcp_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/tcp"
)

// quickAck reads and switches TCP_QUICKACK. Threads: the loop.
func quickAck(t *testing.T, ep netio.Endpoint) bool {
	t.Helper()
	on, err := unix.GetsockoptInt(tcp.FD(ep), unix.IPPROTO_TCP, unix.TCP_QUICKACK)
	if err != nil {
		t.Errorf("get TCP_QUICKACK: got error %v, want none", err)
	}
	return on == 1
}

func switchQuickAckOff(t *testing.T, ep netio.Endpoint) {
	t.Helper()
	if err := unix.SetsockoptInt(tcp.FD(ep), unix.IPPROTO_TCP, unix.TCP_QUICKACK, 0); err != nil {
		t.Errorf("set TCP_QUICKACK to 0: got error %v, want none", err)
	}
	if quickAck(t, ep) {
		t.Errorf("TCP_QUICKACK after it was switched off: got on, want off")
	}
}

// TestQuickAck switches the option off before each message, as the system does by
// itself, and looks at it when the message is delivered.
func TestQuickAck(t *testing.T) {
	const messages = 20
	for _, want := range []bool{true, false} {
		on := 0
		w := newWatcher()
		w.AtData = func(ep netio.Endpoint, _ []byte) {
			if quickAck(t, ep) {
				on++
			}
		}
		s := serve(t, w, tcp.Config{QuickAck: want}, netio.Params{})
		c, ep := s.dialRaw(t)
		for range messages {
			onLoop(t, s.b.Loop(), func() { switchQuickAckOff(t, ep) })
			write(t, c, frame([]byte("message")))
			next(t, "OnData", s.Data)
		}
		onLoop(t, s.b.Loop(), func() {
			if want && on != messages {
				t.Errorf("reads behind which TCP_QUICKACK was on: got %d, want all %d", on, messages)
			}
			// The system switches it on when an acknowledgement is 40 ms old,
			// which this process may be too busy to prevent, but not each time.
			if !want && on == messages {
				t.Errorf("reads behind which TCP_QUICKACK was on without Config.QuickAck: got all %d, want fewer", on)
			}
		})
	}
}

func TestBusyPollIsSet(t *testing.T) {
	for _, want := range []time.Duration{0, 50 * time.Microsecond} {
		cfg := tcp.Config{BusyPoll: want}
		client, w := newWatcher(), newWatcher()
		server, dialer := openBackend(t, w, cfg), openBackend(t, client, cfg)
		l, err := server.OpenListenEndpoint(loopback, netio.Params{})
		if want > 0 && errors.Is(err, unix.EPERM) { // some systems want a capability
			if name := "set SO_BUSY_POLL to 50: "; !strings.Contains(err.Error(), name) {
				t.Errorf("OpenListenEndpoint: got error %q, want %q in it", err, name)
			}
			continue
		}
		if err != nil {
			t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
		}
		if err := dialer.OpenEndpoint(l.Addr(), netio.Params{}); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
		wantBusyPoll(t, "accepted", server, next(t, "OnConnectionEstablished", w.Established), want)
		wantBusyPoll(t, "opened", dialer, next(t, "OnConnectionEstablished", client.Established), want)
	}
}

// wantBusyPoll asserts the option of an endpoint; 0: that of a new socket.
func wantBusyPoll(t *testing.T, side string, b netio.Backend, ep netio.Endpoint, want time.Duration) {
	t.Helper()
	if want == 0 {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatalf("socket: got error %v, want none", err)
		}
		defer unix.Close(fd)
		want = busyPoll(t, fd)
	}
	onLoop(t, b.Loop(), func() {
		if got := busyPoll(t, tcp.FD(ep)); got != want {
			t.Errorf("%s: SO_BUSY_POLL: got %v, want %v", side, got, want)
		}
	})
}

func busyPoll(t *testing.T, fd int) time.Duration {
	t.Helper()
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_BUSY_POLL)
	if err != nil {
		t.Errorf("get SO_BUSY_POLL: got error %v, want none", err)
	}
	return time.Duration(n) * time.Microsecond
}

// A socket refuses the option only if the process may not, on some systems: a
// descriptor that is no socket always does.
func TestBusyPollThatIsRefusedIsNamed(t *testing.T) {
	fd, err := unix.MemfdCreate("no socket", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatalf("make a file: got error %v, want none", err)
	}
	defer unix.Close(fd)
	cfg := tcp.Config{Nagle: true, BusyPoll: time.Second} // it is the only option
	if err, want := tcp.SetOptions(fd, &cfg), "set SO_BUSY_POLL to 1000000: "; !errors.Is(err, unix.ENOTSOCK) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got error %v, want %q and %v", err, want, unix.ENOTSOCK)
	}
}
