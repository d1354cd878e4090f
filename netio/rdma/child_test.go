// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"testing"

	"tagbus/netio"
	"tagbus/netio/rdma"
	"tagbus/netio/reactor"
)

// childAddr names the address that a process of a test connects to instead of
// running tests.
const childAddr = "NETIO_RDMA_CHILD"

// beChild connects, sends one message, and stays until the connection ends, or it
// is killed, if this process was started by startChild.
func beChild() {
	addr := os.Getenv(childAddr)
	if addr == "" {
		return
	}
	err := func() error {
		loop, err := reactor.New(reactor.Config{})
		if err != nil {
			return err
		}
		b, err := rdma.Opener(loop, rdma.Config{Provider: provider()})(greeter{loop: loop})
		if err != nil {
			return err
		}
		p := netio.Params{Buffered: netio.BufferedParams{Buffers: 1}}
		if err := b.OpenEndpoint(netip.MustParseAddrPort(addr), p); err != nil {
			return err
		}
		return errors.Join(loop.Run(context.Background()), b.Close(), loop.Close())
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "the child of a test ends:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// greeter sends a message when it is connected, and ends when it is not any more.
type greeter struct {
	netio.NopHandler
	loop *reactor.EventLoop
}

func (g greeter) OnConnectionClosed(netio.Endpoint, []netio.Key, error) { g.loop.Stop() }

func (greeter) OnConnectionEstablished(ep netio.Endpoint) {
	b, err := ep.Buffer()
	if err == nil {
		_, _ = b.Write([]byte("I am here"))
		err = ep.SendBuffer(b)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the child of a test cannot send:", err)
		os.Exit(1)
	}
}

func startChild(t *testing.T, addr netip.AddrPort) *exec.Cmd {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childAddr+"="+addr.String())
	child.Stderr = os.Stderr
	if err := child.Start(); err != nil {
		t.Fatalf("start a process: got error %v, want none", err)
	}
	return child
}

func TestEndpoint_aPeerThatIsKilledIsGone(t *testing.T) {
	s := serve(t, newWatcher(), rdma.Config{}, netio.Params{})
	child := startChild(t, s.l.Addr())
	defer func() { _ = child.Wait() }()
	next(t, "OnConnectionEstablished", s.Established)
	if got := string(next(t, "a message", s.Data)); got != "I am here" {
		t.Fatalf("message of the child: got %q, want %q", got, "I am here")
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatalf("kill: got error %v, want none", err)
	}
	var op *netio.OpError
	if end := next(t, "OnConnectionClosed", s.Closed); !errors.Is(end.Cause, io.EOF) && !errors.As(end.Cause, &op) {
		t.Errorf("cause: got %v, want %v or an *OpError", end.Cause, io.EOF)
	}
}
