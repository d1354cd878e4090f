// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/rdma"
)

// limited tells the process of a test that it is one that may lock little memory.
const limited = "NETIO_RDMA_LIMITED"

// TestBackend_tooLittleMemoryToLock runs itself as a process that may lock less than the
// buffers of an endpoint take.
func TestBackend_tooLittleMemoryToLock(t *testing.T) {
	if provider() != rdma.ProviderVerbs {
		t.Skipf("no RDMA device: the provider %s locks nothing; NETIO_RDMA_PROV=verbs runs this test", provider())
	}
	if os.Getenv(limited) != "" {
		refuseToLock(t)
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), limited+"=1")
	var out []byte
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlock: the thread ends with what it has lost
		// Root has no limit except by this. Others cannot do this, and need not.
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_IPC_LOCK, 0, 0, 0)
		out, err = child.CombinedOutput()
	}()
	<-done
	if err != nil {
		t.Errorf("process with little memory to lock: got %v and output\n%s\nwant it to pass", err, out)
	}
}

// refuseToLock is the test in that process.
func refuseToLock(t *testing.T) {
	const limit = 4 << 20
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		t.Fatalf("set the limit: got error %v, want none", err)
	}
	log := &lockedBuffer{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	s := serve(t, newWatcher(), rdma.Config{Logger: logger}, netio.Params{})
	w := newWatcher()
	b := openBackend(t, w, rdma.Config{Provider: provider()})
	const want = "register 20971520 bytes of memory: fi_mr_reg: Cannot allocate memory: raise RLIMIT_MEMLOCK (ulimit -l), or ask for fewer or smaller buffers"

	if err := b.OpenEndpoint(s.l.Addr(), netio.Params{}); err != nil {
		t.Fatalf("OpenEndpoint: got error %v, want none", err)
	}
	if err := next(t, "OnConnectionRefused", w.Refused); !strings.Contains(err.Error(), want) {
		t.Errorf("OnConnectionRefused: got error %v, want one that says %q", err, want)
	}
	// The other side reports peers that bring little, and only once.
	little := netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: 1000}}
	const dials = 3
	for range dials {
		if err := b.OpenEndpoint(s.l.Addr(), little); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
		if err := next(t, "OnConnectionRefused", w.Refused); err == nil {
			t.Error("OnConnectionRefused: got no error, want one")
		}
	}
	onLoop(t, s.b.Loop(), func() {})
	if got := s.b.Stats().AcceptErrors; got != dials {
		t.Errorf("Stats.AcceptErrors: got %d, want %d", got, dials)
	}
	if got := strings.Count(log.String(), want); got != 1 {
		t.Errorf("log: got the error %d times in\n%swant once", got, log)
	}
}

// lockedBuffer is a buffer for a log.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
