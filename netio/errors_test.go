// SPDX-License-Identifier: Apache-2.0

package netio_test

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"testing"

	"tagbus/netio"
)

func TestOpErrorText(t *testing.T) {
	addr := netip.MustParseAddrPort("10.0.0.1:1337")
	tests := []struct {
		name string
		err  *netio.OpError
		want string
	}{
		{
			"an error of the system", &netio.OpError{Op: "open endpoint", Addr: addr, Err: syscall.ECONNREFUSED},
			"netio: open endpoint 10.0.0.1:1337: connection refused",
		},
		{
			"a sentinel has no second prefix", &netio.OpError{Op: "open endpoint", Addr: addr, Err: netio.ErrTimeout},
			"netio: open endpoint 10.0.0.1:1337: timed out",
		},
		{
			"a wrapped sentinel has none either", &netio.OpError{Op: "receive", Addr: addr, Err: fmt.Errorf("%w: 9 bytes", netio.ErrMessageLength)},
			"netio: receive 10.0.0.1:1337: peer announced an impossible message length: 9 bytes",
		},
		{
			"an IPv6 address is in brackets", &netio.OpError{Op: "accept", Addr: netip.MustParseAddrPort("[::1]:5"), Err: syscall.EMFILE},
			"netio: accept [::1]:5: too many open files",
		},
		{
			"no address", &netio.OpError{Op: "open endpoint", Err: netio.ErrInvalidAddress},
			"netio: open endpoint invalid AddrPort: invalid address",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.err.Error(); got != tt.want {
				t.Errorf("Error: got %q, want %q", got, tt.want)
			}
			if got := errors.Unwrap(tt.err); got != tt.err.Err { //nolint:errorlint // Unwrap returns this very value
				t.Errorf("Unwrap: got %v, want %v", got, tt.err.Err)
			}
		})
	}
}

func TestOpErrorIsFoundInAChain(t *testing.T) {
	err := fmt.Errorf("subscribe: %w", &netio.OpError{Op: "send", Err: netio.ErrClosed})
	var op *netio.OpError
	if !errors.As(err, &op) || op.Op != "send" || !errors.Is(err, netio.ErrClosed) {
		t.Errorf("got %v, want an *OpError of a send that wraps %v", err, netio.ErrClosed)
	}
}
