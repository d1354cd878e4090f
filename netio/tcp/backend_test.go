package tcp_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

func TestConfigReportsAllThatIsWrong(t *testing.T) {
	bad := tcp.Config{
		SendBufferBytes: -1, ReceiveBufferBytes: 2 << 30, CongestionControl: "much-too-long-a-name",
		KeepaliveIdle: time.Millisecond, KeepaliveInterval: -1, KeepaliveProbes: 1000, UserTimeout: 1,
		Backlog: -1, ReadBudgetBytes: 1, AcceptBudget: -1, MaxEndpoints: -1, AcceptPause: -1,
	}
	_, err := tcp.Opener(startLoop(t, reactor.Config{}).EventLoop, bad)(newWatcher())
	if !errors.Is(err, tcp.ErrInvalidConfig) {
		t.Fatalf("open backend: got error %v, want %v", err, tcp.ErrInvalidConfig)
	}
	for _, field := range []string{
		"SendBufferBytes is -1", "ReceiveBufferBytes is 2147483648", "CongestionControl is \"much", "KeepaliveIdle is 1ms", "KeepaliveInterval is -1ns",
		"KeepaliveProbes is 1000", "UserTimeout is 1ns", "Backlog is -1", "ReadBudgetBytes is 1,", "AcceptBudget is -1", "MaxEndpoints is -1", "AcceptPause is -1ns",
	} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("error: got %q, want %q in it", err, field)
		}
	}
	if err := (tcp.Config{}).Validate(); err != nil {
		t.Errorf("Validate of the zero value: got error %v, want none", err)
	}
	if err := (tcp.Config{KeepaliveIdle: -1, UserTimeout: -1}).Validate(); err != nil {
		t.Errorf("Validate without keepalive and timeout: got error %v, want none", err)
	}
}

// TestCloseWithoutLoop closes a backend whose loop has never run.
func TestCloseWithoutLoop(t *testing.T) {
	before := openFiles(t)
	loop, err := reactor.New(reactor.Config{})
	if err != nil {
		t.Fatalf("reactor.New: got error %v, want none", err)
	}
	w := newWatcher()
	b, err := tcp.Opener(loop, tcp.Config{})(w)
	if err != nil {
		t.Fatalf("open backend: got error %v, want none", err)
	}
	l, err := b.OpenListenEndpoint(loopback, netio.Params{})
	if err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	if err := b.OpenEndpoint(l.Addr(), netio.Params{Buffered: netio.BufferedParams{Buffers: 3}}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	for range 2 {
		if err := b.Close(); err != nil {
			t.Errorf("Backend.Close: got error %v, want none", err)
		}
	}
	if err := l.Close(); !errors.Is(err, netio.ErrClosed) {
		t.Errorf("ListenEndpoint.Close: got error %v, want %v", err, netio.ErrClosed)
	}
	if err := loop.Close(); err != nil {
		t.Errorf("close the loop: got error %v, want none", err)
	}
	if n := len(w.established) + len(w.refused) + len(w.closed); n != 0 {
		t.Errorf("callbacks: got %d, want none", n)
	}
	if after := openFiles(t); after != before {
		t.Errorf("descriptors: got %d, want %d as before", after, before)
	}
}

// TestCloseBeforeTheLoopRuns starts the loop after the backend was closed.
func TestCloseBeforeTheLoopRuns(t *testing.T) {
	r := newRunner(t, reactor.Config{})
	b, err := tcp.Opener(r.EventLoop, tcp.Config{})(newWatcher())
	if err != nil {
		t.Fatalf("open backend: got error %v, want none", err)
	}
	if err := b.Close(); err != nil {
		t.Errorf("Backend.Close: got error %v, want none", err)
	}
	r.start()
	onLoop(t, r, func() {})
	r.stop(t)
	if err := r.Close(); err != nil {
		t.Errorf("close the loop: got error %v, want none", err)
	}
}

// NewTimer makes a runner a netio.Loop.
func (r *runner) NewTimer(f func()) (netio.Timer, error) { return r.EventLoop.NewTimer(f) }

func TestPanicOfACallbackEndsItsEndpointOnly(t *testing.T) {
	tests := []struct {
		name string
		set  func(w *watcher, victim func(netio.Endpoint))
	}{
		{"OnConnectionEstablished", func(w *watcher, victim func(netio.Endpoint)) { w.onEstablished = victim }},
		{"OnData", func(w *watcher, victim func(netio.Endpoint)) {
			w.onData = func(ep netio.Endpoint, _ []byte) { victim(ep) }
		}},
		{"OnSendCompleted", func(w *watcher, victim func(netio.Endpoint)) {
			w.onCompleted = func(c netio.Completion) { victim(c.Endpoint) }
		}},
		{"OnConnectionClosed", func(w *watcher, victim func(netio.Endpoint)) { w.onClosed = victim }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWatcher()
			var eps []netio.Endpoint // that have had this callback; the second is the victim
			tt.set(w, func(ep netio.Endpoint) {
				if !slices.Contains(eps, ep) {
					eps = append(eps, ep)
				}
				if len(eps) > 1 && ep == eps[1] {
					panic("on purpose")
				}
			})
			b, loop := openBackendOn(t, reactor.Config{Logger: slog.New(slog.DiscardHandler)}, w, tcp.Config{})
			l, err := b.OpenListenEndpoint(loopback, netio.Params{})
			if err != nil {
				t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
			}
			s := &served{w, b, l}
			first, firstEnd := s.dialRaw(t)
			closing := tt.name == "OnConnectionClosed"
			if closing { // the first to have this callback must be another one
				c, _ := s.dialRaw(t)
				_ = c.Close()
				next(t, "OnConnectionClosed", w.closed)
			} else {
				s.exchange(t, first, firstEnd)
			}
			victim, victimEnd := s.dialRaw(t)
			if closing {
				_ = victim.Close()
			} else {
				_, _ = victim.Write(slices.Concat(frame([]byte("one")), frame([]byte("two")), []byte{3, 0}))
				_ = victimEnd.SendCopy(1, nil, []byte("answer")) // may come too late
			}
			end := next(t, "OnConnectionClosed", w.closed)
			if end.ep != victimEnd {
				t.Fatalf("OnConnectionClosed: got another endpoint, want the one whose callback panicked")
			}
			if !closing && !errors.Is(end.cause, tcp.ErrCallbackPanicked) {
				t.Errorf("cause: got %v, want %v", end.cause, tcp.ErrCallbackPanicked)
			}
			for len(w.data) > 0 {
				<-w.data
			}
			s.exchange(t, first, firstEnd)
			s.dialRaw(t) // the listen endpoint lives
			if got := loop.Stats().Panics; got != 1 {
				t.Errorf("panics: got %d, want 1", got)
			}
		})
	}
}

// exchange sends a message in both directions.
func (s *served) exchange(t *testing.T, c io.ReadWriter, ep netio.Endpoint) {
	t.Helper()
	write(t, c, frame([]byte("unharmed")))
	if got := next(t, "OnData", s.data); string(got) != "unharmed" {
		t.Errorf("OnData: got %q, want %q", got, "unharmed")
	}
	if err := ep.SendCopy(1, nil, []byte("unharmed")); err != nil {
		t.Errorf("SendCopy: got error %v, want none", err)
	}
	got := make([]byte, 12)
	if _, err := io.ReadFull(c, got); err != nil || string(got[4:]) != "unharmed" {
		t.Errorf("peer: got %q and error %v, want %q", got, err, "unharmed")
	}
}

// TestManyEndpoints opens a thousand connections, uses and closes them, and
// measures what they hold.
func TestManyEndpoints(t *testing.T) {
	const n = 1000
	before := openFiles(t)
	server, client := newWatcher(), newWatcher()
	s := serve(t, server, tcp.Config{}, netio.Params{})
	b := openBackend(t, client, tcp.Config{})
	baseline := openFiles(t)
	heap := heapBytes()
	// A backend has one endpoint per address: the server listens on some, and
	// several clients would do as well.
	addrs := []netip.AddrPort{s.l.Addr()}
	for range n - 1 {
		l, err := s.b.OpenListenEndpoint(loopback, netio.Params{})
		if err != nil {
			t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
		}
		addrs = append(addrs, l.Addr())
	}
	for _, addr := range addrs {
		if err := b.OpenEndpoint(addr, netio.Params{}); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
	}
	var eps []netio.Endpoint
	for range n {
		ep := next(t, "OnConnectionEstablished", client.established)
		if err := ep.SendCopy(1, nil, pattern(5000, 1)); err != nil {
			t.Fatalf("SendCopy: got error %v, want none", err)
		}
		eps = append(eps, ep)
	}
	for range n {
		next(t, "OnData", server.data)
		next(t, "OnSendCompleted", client.completed)
	}
	for _, x := range []netio.Backend{b, s.b} {
		onLoop(t, x.Loop(), func() {})
		if used, _ := tcp.BackendBytes(x); used != 0 {
			t.Errorf("memory of %d idle endpoints: got %d bytes of blocks, want none", n, used)
		}
		tcp.TrimMemory(x)
		tcp.TrimMemory(x)
		if _, free := tcp.BackendBytes(x); free != 0 {
			t.Errorf("memory kept after a while: got %d bytes, want none", free)
		}
	}
	per := (heapBytes() - heap) / n
	t.Logf("heap: %d bytes for each connection, that is two endpoints, one listen endpoint and one used queue", per)
	if most := 32 << 10; per > most {
		t.Errorf("heap for each connection: got %d bytes, want at most %d", per, most)
	}
	for _, ep := range eps {
		if err := ep.Close(); err != nil {
			t.Errorf("Close: got error %v, want none", err)
		}
	}
	for range n {
		next(t, "OnConnectionClosed", client.closed)
		next(t, "OnConnectionClosed", server.closed)
	}
	if err := errors.Join(b.Close(), s.b.Close()); err != nil {
		t.Errorf("Backend.Close: got error %v, want none", err)
	}
	if after := openFiles(t); after > baseline || after < before {
		t.Errorf("descriptors when all is closed: got %d, want at most the %d of before", after, baseline)
	}
}

func heapBytes() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestOpenAndCloseDoesNotGrow opens and closes connections in a row.
func TestOpenAndCloseDoesNotGrow(t *testing.T) {
	server, client := newWatcher(), newWatcher()
	p := netio.Params{Buffered: netio.BufferedParams{Buffers: 2}}
	s := serve(t, server, tcp.Config{}, p)
	b := openBackend(t, client, tcp.Config{})
	once := func() {
		if err := b.OpenEndpoint(s.l.Addr(), p); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
		ep := next(t, "OnConnectionEstablished", client.established)
		next(t, "OnConnectionEstablished", server.established)
		if err := ep.Close(); err != nil {
			t.Fatalf("Close: got error %v, want none", err)
		}
		next(t, "OnConnectionClosed", client.closed)
		next(t, "OnConnectionClosed", server.closed)
	}
	once()
	files, goroutines := openFiles(t), runtime.NumGoroutine()
	for range 500 {
		once()
	}
	if after := openFiles(t); after > files {
		t.Errorf("descriptors: got %d, want %d as before", after, files)
	}
	if after := runtime.NumGoroutine(); after > goroutines {
		t.Errorf("goroutines: got %d, want %d as before", after, goroutines)
	}
}

// TestBufferReleasedUnsent takes all buffers, is refused one, and gives one
// back without sending it.
func TestBufferReleasedUnsent(t *testing.T) {
	w := newWatcher()
	s := serve(t, w, tcp.Config{}, netio.Params{Buffered: netio.BufferedParams{Buffers: 1}})
	_, ep := s.dialRaw(t)
	b, err := ep.Buffer()
	if err != nil {
		t.Fatalf("Buffer: got error %v, want none", err)
	}
	if _, err := ep.Buffer(); !errors.Is(err, netio.ErrNoResources) {
		t.Fatalf("second Buffer: got error %v, want %v", err, netio.ErrNoResources)
	}
	onLoop(t, s.b.Loop(), func() {})
	if len(w.ready) != 0 {
		t.Errorf("OnSendReady with no buffer free: got one, want none")
	}
	b.Release()
	next(t, "OnSendReady", w.ready)
	if _, err := ep.Buffer(); err != nil {
		t.Errorf("Buffer after OnSendReady: got error %v, want none", err)
	}
}

func TestMessagesAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, size := range []int{64, 10_000, 130_900} {
		for _, way := range ways {
			t.Run(fmt.Sprintf("%d bytes, %s", size, way), func(t *testing.T) {
				p, s, ep, loop := pumpAndSink(t, tcp.Config{}, way, size)
				begin := func() { p.fill(ep) }
				const messages = 200
				run := func() {
					s.left, p.left = messages, messages
					loop.Post(begin)
					<-s.done
					<-p.done
				}
				for range 5 {
					run() // everything gets its size
				}
				// A block or two may come and go with the timing.
				if got := testing.AllocsPerRun(20, run); got > messages/50 {
					t.Errorf("allocations for %d messages: got %v, want none for each", messages, got)
				}
			})
		}
	}
}

// TestCloseOfABlockedEndpointResets closes an endpoint whose peer does not
// read: the peer hears of it although its window is closed.
func TestCloseOfABlockedEndpointResets(t *testing.T) {
	w := newWatcher()
	s := serve(t, w, tcp.Config{}, netio.Params{})
	c, ep := s.dialRaw(t)
	data := make([]byte, 1<<20)
	for ep.Send(1, nil, data) == nil || len(w.completed) == 0 { // until the queue is full
		onLoop(t, s.b.Loop(), func() {})
		if len(w.completed) > 1000 {
			t.Fatal("the peer takes everything, want it to stop")
		}
	}
	if err := ep.Close(); err != nil {
		t.Fatalf("Close: got error %v, want none", err)
	}
	end := next(t, "OnConnectionClosed", w.closed)
	if len(end.keys) == 0 || end.cause != nil {
		t.Errorf("OnConnectionClosed: got %d keys and cause %v, want some and nil", len(end.keys), end.cause)
	}
	_ = c.SetReadBuffer(1 << 20)
	for {
		if _, err := c.Read(data); err != nil {
			if !errors.Is(err, unix.ECONNRESET) {
				t.Errorf("peer: got error %v, want %v", err, unix.ECONNRESET)
			}
			return
		}
	}
}
