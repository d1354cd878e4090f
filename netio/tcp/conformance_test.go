package tcp_test

import (
	"context"
	"net/netip"
	"sync"
	"testing"

	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

// runner is a loop with the goroutine that runs it.
type runner struct {
	*reactor.EventLoop
	ended chan error
	once  sync.Once
}

func newRunner(t netiotest.TB, cfg reactor.Config) *runner {
	t.Helper()
	loop, err := reactor.New(cfg)
	if err != nil {
		t.Fatalf("reactor.New: got error %v, want none", err)
	}
	return &runner{EventLoop: loop, ended: make(chan error, 1)}
}

func (r *runner) start() { go func() { r.ended <- r.Run(context.Background()) }() }

// end ends the loop, waits for that, and returns the error of Run once.
func (r *runner) end() (err error) {
	r.once.Do(func() {
		r.Stop()
		err = <-r.ended
	})
	return err
}

// stop ends the loop and waits for that.
func (r *runner) stop(t netiotest.TB) {
	t.Helper()
	if err := r.end(); err != nil {
		t.Errorf("Run: got error %v, want none", err)
	}
}

// startLoop returns a loop that runs until the end of the test, and has no
// sources left then.
func startLoop(t netiotest.TB, cfg reactor.Config) *runner {
	t.Helper()
	r := newRunner(t, cfg)
	r.start()
	t.Cleanup(func() {
		r.stop(t)
		if err := r.Close(); err != nil {
			t.Errorf("close the loop: got error %v, want none", err)
		}
	})
	return r
}

// openBackend opens a backend on a loop of its own, for the time of the test.
func openBackend(t netiotest.TB, h netio.Handler, cfg tcp.Config) netio.Backend {
	t.Helper()
	b, _ := openBackendLoop(t, h, cfg)
	return b
}

func openBackendLoop(t netiotest.TB, h netio.Handler, cfg tcp.Config) (netio.Backend, *runner) {
	t.Helper()
	return openBackendOn(t, reactor.Config{}, h, cfg)
}

func openBackendOn(t netiotest.TB, loopConfig reactor.Config, h netio.Handler, cfg tcp.Config) (netio.Backend, *runner) {
	t.Helper()
	r := startLoop(t, loopConfig)
	b, err := tcp.Opener(r.EventLoop, cfg)(h)
	if err != nil {
		t.Fatalf("open backend: got error %v, want none", err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("Backend.Close: got error %v, want none", err)
		}
	})
	return b, r
}

// suite describes backends to the conformance suite.
func suite(listen string, cfg tcp.Config) netiotest.Suite {
	var loops sync.Map // netio.Backend → *runner
	return netiotest.Suite{
		Open: func(t netiotest.TB, base netio.Config, h netio.Handler) netio.Backend {
			cfg := cfg
			cfg.Config = base
			b, r := openBackendLoop(t, h, cfg)
			loops.Store(b, r)
			return b
		},
		Config:       cfg.Config,
		ListenAddr:   netip.MustParseAddrPort(listen),
		Capabilities: netio.Capabilities{Receive: true, Buffered: true, ZeroCopy: true, Immediate: true},
		StopLoop: func(b netio.Backend) {
			r, _ := loops.Load(b)
			_ = r.(*runner).end()
		},
	}
}

func TestConformance(t *testing.T) {
	tests := []struct {
		name   string
		listen string
		cfg    tcp.Config
	}{
		{"IPv4", "127.0.0.1:0", tcp.Config{}},
		{"IPv6", "[::1]:0", tcp.Config{}},
		{"small socket buffers and budgets", "127.0.0.1:0", tcp.Config{
			SendBufferBytes: 1, ReceiveBufferBytes: 16384, ReadBudgetBytes: 4 << 10, AcceptBudget: 1,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			netiotest.Run(t, suite(tt.listen, tt.cfg))
		})
	}
}
