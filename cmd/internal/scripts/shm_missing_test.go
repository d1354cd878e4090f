// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"os/exec"
	"strings"
	"testing"

	"tagbus/internal/testkit"
)

// TestWithoutSharedMemory: one side is not given the memory that processes share, by a filter of
// system calls, or has no folder for its socket. The connection is by TCP, and the program says why.
func TestWithoutSharedMemory(t *testing.T) {
	notShort(t)
	if testkit.Race {
		t.Skip("a race build shares no memory of a pool")
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("needs strace of the Debian package strace")
	}
	refused := []string{"strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=memfd_create", "-e", "signal=none", "-e", "inject=memfd_create:error=EPERM"}
	const publishes = "publisher --bus BUS --tags 5 --name pub --emulate 100 --count 100 --wait-subscribers 1 --duration 30s --backend "
	const subscribes = "subscriber --bus BUS --tags 5 --count 100 --backend "
	for _, test := range []struct {
		name                  string
		publisher, subscriber string
		before                [2]bool // strace stands before it
		said                  [2]string
		connectedOver         string
	}{
		{"the publisher has no memfd", "auto", "auto", [2]bool{true, false}, [2]string{`a transport is not available: connections use others.*shm.*operation not permitted`, ""}, "tcp"},
		{"the subscriber has no memfd", "auto", "auto", [2]bool{false, true}, [2]string{"", `a transport is not available: connections use others.*shm.*operation not permitted`}, "tcp"},
		{"the publisher has no folder", "auto --shm-folder /dev/null/x", "auto", [2]bool{}, [2]string{`no peer connects by shm, and all use other transports: .*not a directory`, ""}, "tcp"},
		{"the publisher wants nothing else", "shm", "auto", [2]bool{}, [2]string{}, "shm"},
	} {
		t.Run(test.name, func(t *testing.T) {
			bus := t.TempDir()
			start := func(i int, name, line string) *program {
				args := strings.Fields(strings.ReplaceAll(line, "BUS", bus))
				if test.before[i] {
					args = append(append([]string(nil), refused...), args...)
				}
				return run(t, name, args...)
			}
			p := start(0, "publisher", publishes+test.publisher)
			if test.said[0] != "" {
				p.await(test.said[0])
			}
			s := start(1, "subscriber", subscribes+test.subscriber)
			if test.said[1] != "" {
				s.await(test.said[1])
			}
			s.await(` connected pub@\S+ \(\S+\) over ` + test.connectedOver + `$`)
			s.finish(0)
		})
	}
}
