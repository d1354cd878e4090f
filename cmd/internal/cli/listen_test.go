// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"errors"
	"net/netip"
	"strings"
	"syscall"
	"testing"

	"tagbus/cmd/internal/cli"
	"tagbus/netio"
)

// TestAListenErrorNamesTheOption and says what to do.
func TestAListenErrorNamesTheOption(t *testing.T) {
	at := netip.MustParseAddrPort("10.0.0.1:500")
	open := func(err error) error { return &netio.OpError{Op: "open listen endpoint", Addr: at, Err: err} }
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"the port is taken", open(syscall.EADDRINUSE), "--listen 10.0.0.1:500: address already in use: another program listens there: stop it, or give another port, or 0 for any that is free"},
		{"the address is another host's", open(syscall.EADDRNOTAVAIL), `--listen 10.0.0.1:500: cannot assign requested address: this host has no such address: give one that "ip address" lists`},
		{"the port is the system's", open(syscall.EACCES), "--listen 10.0.0.1:500: permission denied: ports below 1024 take a privilege: give another port, or 0 for any that is free"},
		{"a device says no", open(errors.New("netio: no device")), "--listen 10.0.0.1:500: no device"},
		{"another address", &netio.OpError{Op: "open endpoint", Addr: at, Err: errors.New("x")}, "netio: open endpoint 10.0.0.1:500: x"},
		{"nothing about addresses", errors.New("bus: x"), "bus: x"},
	}
	for _, test := range tests {
		err := cli.NameListen("--listen", at, test.err)
		var listen *cli.ListenError
		if err.Error() != test.want || !errors.Is(err, test.err) || errors.As(err, &listen) != strings.HasPrefix(test.want, "--listen") {
			t.Errorf("%s: got %v, want %s", test.name, err, test.want)
		}
	}
	if err := cli.NameListen("--listen", at, nil); err != nil {
		t.Errorf("no error: got %v", err)
	}
}
