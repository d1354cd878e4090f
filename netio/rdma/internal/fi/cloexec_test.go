// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package fi_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// descriptors returns the open descriptors of this process with what they are.
func descriptors(t *testing.T) map[int]string {
	t.Helper()
	all := make(map[int]string)
	for _, entry := range must(os.ReadDir("/proc/self/fd"))(t) {
		fd := must(strconv.Atoi(entry.Name()))(t)
		if what, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil { // else it was that of ReadDir
			all[fd] = what
		}
	}
	return all
}

// TestNoDescriptorIsInherited looks at the flags of all that a connection opens,
// and at what a process has that is started meanwhile.
func TestNoDescriptorIsInherited(t *testing.T) {
	before := descriptors(t)
	c := connect(t, true)
	defer c.close(t)
	exchange(t, c.client, c.server, 5)
	opened := map[string]bool{}
	for fd, what := range descriptors(t) {
		if before[fd] == what {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil {
			t.Fatalf("flags of descriptor %d: got error %v, want none", fd, err)
		}
		if flags&unix.FD_CLOEXEC == 0 {
			t.Errorf("descriptor %d, %s: got flags %#x, want close-on-exec", fd, what, flags)
		}
		if strings.HasPrefix(what, "socket:") { // the others have no names of their own
			opened[what] = true
		}
	}
	if provider() != "verbs" && len(opened) < 2 {
		t.Fatalf("sockets of a connection: got %v, want at least its two", opened)
	}
	child := must(exec.CommandContext(t.Context(), "sh", "-c", "for fd in /proc/$$/fd/*; do readlink $fd; done; true").Output())(t)
	for what := range strings.Lines(string(child)) {
		if opened[strings.TrimSpace(what)] {
			t.Errorf("a process that was started has %s", what)
		}
	}
}
