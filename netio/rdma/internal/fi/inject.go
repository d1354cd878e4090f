// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package fi

import "C"

import "sync/atomic"

// failures is what FailCalls was given.
var failures atomic.Pointer[func(call string) Errno]

// FailCalls is for tests. It makes calls that open, bind and connect fail: f gets the
// name of each, as it stands in Error.Call, before the call is made. Where f returns
// a number other than 0 the call is not made, and this is its error. nil ends that.
// Threads: any; f may be called by several goroutines at once.
func FailCalls(f func(call string) Errno) {
	if f == nil {
		failures.Store(nil)
		return
	}
	failures.Store(&f)
}

// attempt makes a call, unless it is to fail.
func attempt(name string, call func() C.int) error {
	if f := failures.Load(); f != nil {
		if number := (*f)(name); number != 0 {
			return &Error{name, number}
		}
	}
	return check(name, call())
}
