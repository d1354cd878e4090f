// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/cmd/internal/cli"
)

// openTerminal returns both ends of a new pseudo-terminal.
func openTerminal(t *testing.T) (screen, program *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	// Not screen.Fd, which would make reading it blind to deadlines.
	raw, err := screen.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	var failed error
	err = raw.Control(func(fd uintptr) {
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed == nil {
			number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return screen, program
}

// readUntil reads the screen until it shows want, and returns what it has read.
func readUntil(t *testing.T, screen *os.File, want string) string {
	t.Helper()
	if err := screen.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	shown, piece := "", make([]byte, 1000)
	for !strings.Contains(shown, want) {
		n, err := screen.Read(piece)
		shown += string(piece[:n])
		if err != nil {
			t.Fatalf("got %q and %v, want %q", shown, err, want)
		}
	}
	return shown
}

func TestLiveLineOnATerminal(t *testing.T) {
	screen, program := openTerminal(t)
	c := cli.NewConsole("tool", program, false)
	c.Live(func() string { return "so far 7" })
	readUntil(t, screen, "\r\x1b[Kso far 7\r\x1b[Kso far 7") // it is renewed
	c.Say("a line")
	// A line takes the place of the live one.
	got := readUntil(t, screen, "a line\r\n")
	if !strings.HasSuffix(got, "\r\x1b[Ktool: a line\r\n") {
		t.Errorf("got %q, want the live line cleared before the line", got)
	}
	c.Summary("summary")
	c.Close()
	readUntil(t, screen, "tool: summary\r\n")
}

func TestNoLiveLineWhenQuiet(t *testing.T) {
	screen, program := openTerminal(t)
	c := cli.NewConsole("tool", program, true)
	called := make(chan bool, 1000)
	c.Live(func() string {
		called <- true
		return "so far 7"
	})
	c.Summary("summary")
	c.Close()
	if got, want := readUntil(t, screen, "\n"), "tool: summary\r\n"; got != want || len(called) > 0 {
		t.Errorf("got %q, want only %q", got, want)
	}
}
