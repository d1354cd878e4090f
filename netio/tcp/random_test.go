package tcp_test

import (
	"net/netip"
	"os"
	"testing"

	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/tcp"
)

// ownHost returns a loopback address for this process and port 0. The walks
// dial ports on which nobody listens any more, and those of 127.0.0.1 may have
// been given to the test of another process meanwhile.
func ownHost() netip.AddrPort {
	pid := os.Getpid()
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, byte(100 + pid>>16), byte(pid >> 8), byte(pid)}), 0)
}

// TestRandomRun drives the backend at random against the suite's model, with
// socket buffers and budgets as they are and so small that nearly everything
// is done in part. Each walk draws a netio.Config of its own.
func TestRandomRun(t *testing.T) {
	tests := []struct {
		name string
		cfg  tcp.Config
	}{
		{"as it is", tcp.Config{}},
		{"small socket buffers and budgets", tcp.Config{
			SendBufferBytes: 1, ReceiveBufferBytes: 16384, ReadBudgetBytes: 4 << 10, AcceptBudget: 1,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := suite(ownHost().String(), tt.cfg)
			s.Reset = func(a, _ netio.Endpoint) {
				if m, ok := a.(interface{ Unwrap() netio.Endpoint }); ok {
					a = m.Unwrap()
				}
				tcp.BreakConnection(a)
			}
			netiotest.RandomRun(t, s)
		})
	}
}
