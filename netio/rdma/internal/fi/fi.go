// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package fi

/*
#cgo pkg-config: libfabric
#cgo CFLAGS: -O2 -Wall
#include "fi.h"
*/
import "C"

import (
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// Errno is an error number of libfabric. Up to 255 they are those of the system,
// and errors.Is finds them so: syscall.ECONNREFUSED, for example.
type Errno int

// Errors of libfabric that callers tell apart.
const (
	EAGAIN    Errno = C.FI_EAGAIN
	ENODATA   Errno = C.FI_ENODATA
	EINVAL    Errno = C.FI_EINVAL
	ENOMEM    Errno = C.FI_ENOMEM
	ECANCELED Errno = C.FI_ECANCELED
	ETRUNC    Errno = C.FI_ETRUNC
)

// Error returns libfabric's words.
//
// Implements:
//
//	const char *fi_strerror(int errnum)
func (e Errno) Error() string { return C.GoString(C.fi_strerror(C.int(e))) }

// Is reports whether target is the same number of the system.
func (e Errno) Is(target error) bool {
	number, ok := target.(syscall.Errno)
	return ok && syscall.Errno(e) == number
}

// Error is a call that failed.
type Error struct {
	Call  string // the function of libfabric
	Errno Errno
}

// Error returns, for example, "fi_listen: Address already in use".
func (e *Error) Error() string { return e.Call + ": " + e.Errno.Error() }

// Unwrap returns Errno.
func (e *Error) Unwrap() error { return e.Errno }

// check returns the error of a call.
func check(call string, rc C.int) error {
	if rc == 0 {
		return nil
	}
	return &Error{call, Errno(-rc)}
}

var setenv sync.Once

// prepare sets what libfabric reads of the environment when it is first used, and has it
// look for devices, in the thread of lister.c.
//
// Its cache of memory registrations must be off. It learns of memory that was
// unmapped by watching the C library, which Go does not use: what is mapped at
// the same address later would be sent as it was before.
//
// The provider ofi_rxm would have 64 MiB of receive buffers of its own per
// endpoint, and let those who connect wait for 10 ms.
//
// A library that libfabric brings along handles SIGSEGV with a backtrace of its
// own, in the way of Go's.
func prepare() {
	setenv.Do(func() {
		if os.Getenv("FI_MR_CACHE_MONITOR") != "userfaultfd" { // which does notice
			_ = os.Setenv("FI_MR_CACHE_MONITOR", "disabled") // fails for names with a zero byte only
		}
		for name, value := range map[string]string{"IPATH_NO_BACKTRACE": "1", "FI_OFI_RXM_MSG_RX_SIZE": "256", "FI_OFI_RXM_CM_PROGRESS_INTERVAL": "0"} {
			if os.Getenv(name) == "" {
				_ = os.Setenv(name, value)
			}
		}
		C.fix_initialise()
	})
}

// Version returns that of the library that is loaded.
//
// Implements:
//
//	uint32_t fi_version(void)
func Version() (major, minor int) {
	v := C.fi_version()
	return int(v >> 16), int(v & 0xffff)
}

// handle returns a pointer as the number that crosses to C.
func handle[T any](p *T) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }

// closeObject closes *p, once.
//
// Implements:
//
//	int fi_close(struct fid *fid)
func closeObject[T any](p **T) error {
	if *p == nil {
		return nil
	}
	rc := C.fix_close(unsafe.Pointer(*p)) // every object begins with its fid
	*p = nil
	return check("fi_close", rc)
}
