// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package pty opens terminals for tests.
package pty

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Open returns both ends of a new pseudo-terminal, which are closed when the test ends.
//
//   - screen: what a person sees and types on. Its Fd would make reading it blind to deadlines.
//   - program: what a program has.
func Open(tb testing.TB) (screen, program *os.File) {
	tb.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = screen.Close() })
	raw, err := screen.SyscallConn()
	if err != nil {
		tb.Fatal(err)
	}
	number := 0
	var failed error
	err = raw.Control(func(fd uintptr) {
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed == nil {
			number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err = errors.Join(err, failed); err != nil {
		tb.Fatal(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = program.Close() })
	return screen, program
}

// SetSize says how many characters and lines a terminal has.
func SetSize(tb testing.TB, program *os.File, width, height uint16) {
	tb.Helper()
	if err := unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width}); err != nil {
		tb.Fatal(err)
	}
}

// Settings returns how a terminal is set.
func Settings(tb testing.TB, program *os.File) unix.Termios {
	tb.Helper()
	got, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	if err != nil {
		tb.Fatal(err)
	}
	return *got
}

// ReadUntil reads the screen until it shows want, and returns what it has read.
func ReadUntil(tb testing.TB, screen *os.File, want string) string {
	tb.Helper()
	if err := screen.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		tb.Fatal(err)
	}
	shown, piece := "", make([]byte, 1000)
	for !strings.Contains(shown, want) {
		n, err := screen.Read(piece)
		shown += string(piece[:n])
		if err != nil {
			tb.Fatalf("got %q and %v, want %q", shown, err, want)
		}
	}
	return shown
}
