//go:build libfabric && cgo

package rdma_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"tagbus/netio"
	"tagbus/netio/rdma"
)

// TestADeviceThatIsMadeLeavesTheOthersAlone makes devices while another one is
// listened on, and has other threads look for devices then. With librdmacm of Debian
// 12 a device was opened a second time when the thread that saw a new one was not that
// which had seen it first: all that connected from then on was refused.
func TestADeviceThatIsMadeLeavesTheOthersAlone(t *testing.T) {
	if os.Getenv("NETIO_RDMA_SOFT") != "yes" {
		t.Skip("no RDMA device beside which others may be made; where there is Soft-RoCE NETIO_RDMA_SOFT=yes runs this test")
	}
	params := netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: 4 << 10, Buffers: 2}}
	s := serve(t, newWatcher(), rdma.Config{}, params)
	stay := make(chan struct{}) // a thread that ends leaves its memory to the next
	defer close(stay)
	const devices = 3 // they stay, see softDevice of package node
	for i := range devices {
		makeDevice(t, fmt.Sprintf("m%dp%d", i, os.Getpid()))
		b := openBackend(t, newWatcher(), rdma.Config{Provider: provider()})
		looked := make(chan error)
		go func() {
			runtime.LockOSThread() // and never unlock
			_, err := b.OpenListenEndpoint(loopback(), params)
			looked <- err
			<-stay
		}()
		if err := next(t, "a look for devices", looked); err != nil {
			t.Fatalf("OpenListenEndpoint on another thread: got error %v, want none", err)
		}
		w := newWatcher()
		if err := openBackend(t, w, rdma.Config{Provider: provider()}).OpenEndpoint(s.l.Addr(), params); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
		select {
		case <-w.Established:
		case err := <-w.Refused:
			t.Errorf("after device %d was made: got error %v, want to connect", i, err)
		}
	}
	if got := s.b.Stats().AcceptErrors; got != 0 {
		t.Errorf("Stats.AcceptErrors: got %d, want 0", got)
	}
}

// makeDevice makes a device of Soft-RoCE over a new network interface.
func makeDevice(t *testing.T, link string) {
	t.Helper()
	for _, command := range [][]string{
		{"ip", "link", "add", link, "type", "dummy"},
		{"ip", "link", "set", link, "up"},
		{"rdma", "link", "add", "rxe" + link, "type", "rxe", "netdev", link},
	} {
		if out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: got error %v and %q, want none", command, err, out)
		}
	}
}
