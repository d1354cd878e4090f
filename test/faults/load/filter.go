// SPDX-License-Identifier: Apache-2.0

//go:build linux

package load

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// filters are the calls of the system that -refuse names: each fails with an error from then on, as with the
// filter of a container, or on an older system.
var filters = map[string]struct {
	call  uint32
	with  uint32 // of the second argument; 0: any
	errno unix.Errno
}{
	"memfd": {unix.SYS_MEMFD_CREATE, 0, unix.EPERM},
	"seals": {unix.SYS_FCNTL, unix.F_ADD_SEALS, unix.EINVAL}, // F_SEAL_FUTURE_WRITE is of Linux 5.1
}

// Words of a filter: numbers of <linux/seccomp.h>, and offsets in its data.
const (
	dataCall   = 0
	dataSecond = 16 + 8
	retAllow   = 0x7fff0000
	retErrno   = 0x00050000
	setFilter  = 1
	allThreads = 1
)

// refuse makes a call of the system fail in this process.
//
// Errors: the system's; an unknown name.
func refuse(name string) error {
	f, known := filters[name]
	if !known {
		return fmt.Errorf("-refuse %s: not known", name)
	}
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	equal := func(k uint32, otherwise uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: otherwise, K: k}
	}
	program := []unix.SockFilter{load(dataCall), equal(f.call, 1)}
	if f.with != 0 {
		program = []unix.SockFilter{load(dataCall), equal(f.call, 3), load(dataSecond), equal(f.with, 1)}
	}
	program = append(program,
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: retErrno | uint32(f.errno)},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: retAllow})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("-refuse %s: %w", name, err)
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, setFilter, allThreads, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return fmt.Errorf("-refuse %s: seccomp: %w", name, errno)
	}
	return nil
}
