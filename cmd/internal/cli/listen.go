// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"

	"tagbus/netio"
)

// ListenError reports an option whose address cannot be listened on.
type ListenError struct {
	Option string // as on the command line: "--listen"
	Addr   netip.AddrPort
	Err    error
}

// Error names the option, the address and the cause, and says what to do.
func (e *ListenError) Error() string {
	return fmt.Sprintf("%s %v: %s%s", e.Option, e.Addr, e.cause(), e.advice())
}

// Unwrap returns the cause.
func (e *ListenError) Unwrap() error { return e.Err }

// cause returns the cause without the call that met it: the option has said which.
func (e *ListenError) cause() string {
	var number syscall.Errno
	var op *netio.OpError
	switch {
	case errors.As(e.Err, &number):
		return number.Error()
	case errors.As(e.Err, &op):
		return strings.TrimPrefix(op.Err.Error(), "netio: ")
	default:
		return e.Err.Error()
	}
}

func (e *ListenError) advice() string {
	switch {
	case errors.Is(e.Err, syscall.EADDRINUSE):
		return ": another program listens there: stop it, or give another port, or 0 for any that is free"
	case errors.Is(e.Err, syscall.EADDRNOTAVAIL):
		return ": this host has no such address: give one that \"ip address\" lists"
	case errors.Is(e.Err, syscall.EACCES):
		return ": ports below 1024 take a privilege: give another port, or 0 for any that is free"
	default:
		return ""
	}
}

// NameListen returns the error of opening what listens on the address of an option: a
// *ListenError if it could not listen, else err.
func NameListen(option string, addr netip.AddrPort, err error) error {
	var op *netio.OpError
	var system *net.OpError
	if errors.As(err, &op) && op.Op == "open listen endpoint" || errors.As(err, &system) && system.Op == "listen" {
		return &ListenError{Option: option, Addr: addr, Err: err}
	}
	return err
}
