// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/netio/reactor"
)

func TestOpError_Error_texts(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"with a descriptor", &reactor.OpError{Op: "register", FD: 7, Err: unix.EBADF}, "reactor: register fd 7: bad file descriptor"},
		{"without one", &reactor.OpError{Op: "create epoll", FD: -1, Err: unix.EMFILE}, "reactor: create epoll: too many open files"},
		{"a value", &reactor.ConfigError{Name: "MaxEvents", Value: -1, Reason: "must be positive"}, "reactor: MaxEvents is -1: must be positive"},
		{"a panic", &reactor.Panic{Source: "timer x", Value: "boom"}, "reactor: panic in timer x: boom"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.err.Error(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestWaitMode_String_namesOfValues(t *testing.T) {
	for got, want := range map[string]string{
		reactor.WaitNetpoll.String(): "netpoll", reactor.WaitThread.String(): "thread", reactor.WaitMode(9).String(): "unknown",
		reactor.Coalescing.String(): "coalescing", reactor.Semaphore.String(): "semaphore", reactor.SignalMode(9).String(): "unknown",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
