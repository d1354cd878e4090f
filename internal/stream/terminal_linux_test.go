// SPDX-License-Identifier: Apache-2.0

package stream_test

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/internal/stream"
)

// TestATerminalGoes: what is written to it then fails as to a pipe.
func TestATerminalGoes(t *testing.T) {
	screen, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("needs a pseudo-terminal: %v", err)
	}
	number, err := unix.IoctlGetInt(screen, unix.TIOCGPTN)
	if err = errors.Join(err, unix.IoctlSetPointerInt(screen, unix.TIOCSPTLCK, 0)); err != nil {
		t.Fatal(err)
	}
	inside, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = inside.Close() })
	ended := false
	o := stream.NewOutput(inside, func() { ended = true })
	if !stream.IsTerminal(o) {
		t.Error("got no terminal, want one")
	}
	if stream.Gone(o, syscall.EIO) {
		t.Error("got a terminal that has gone, want one that has not")
	}
	if _, err := o.Write([]byte("x")); err != nil || ended {
		t.Errorf("got %v and an end %t, want none", err, ended)
	}
	if err := unix.Close(screen); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) || !ended || !o.Gone() {
		t.Errorf("got %v, an end %t and gone %t, want EPIPE and both", err, ended, o.Gone())
	}
	if _, err := inside.WriteString("x"); !stream.Gone(inside, err) {
		t.Errorf("got %v of a terminal that has not gone, want one that has", err)
	}
}
