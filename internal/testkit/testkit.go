// SPDX-License-Identifier: Apache-2.0

// Package testkit says how much the tests of this module do.
//
// There are three extents:
//
//   - the usual one, of make test and of go test ./...;
//   - everything, with TAGBUS_TESTS=all in the environment: every configuration of
//     the backends' suites, long random walks, and work and memory at the limits
//     that docs/guarantees.md promises;
//   - less than usual, with the flag -short: for a device that is slow, as one is
//     that is emulated in an emulated machine (make verbs).
//
// A test that leaves something out says so: it skips with a reason that
// scripts/allowed-skips.txt lists, and make test prints it.
package testkit

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// All reports whether tests are to do everything. It panics if TAGBUS_TESTS is
// set to something other than "all".
func All() bool {
	switch extent := os.Getenv("TAGBUS_TESTS"); extent {
	case "":
		return false
	case "all":
		return true
	default:
		panic(fmt.Sprintf("TAGBUS_TESTS=%s: the only value is all", extent))
	}
}

// DependsOnTree notes that a test depends on files of this tree that it does not open itself:
// another program reads them, such as the go command. go test keeps what has passed by the
// files that a test opens and by the variables that it reads. The machine that decides sets
// TAGBUS_TREE to what names the content of the whole tree.
func DependsOnTree() { _ = os.Getenv("TAGBUS_TREE") }

// Must ends a test that cannot go on after an error.
func Must(tb testing.TB, err error) { //nolint:thelper // Helper takes a while, and may be called once per message
	if err != nil {
		tb.Helper()
		tb.Fatal(err)
	}
}

// Said returns what a program has written, without the lines of the watchdog of an event loop: on a
// machine that is busy each program may have some.
func Said(output []byte) string {
	var said strings.Builder
	for line := range strings.Lines(string(output)) {
		if !strings.Contains(line, "event loop is blocked") {
			said.WriteString(line)
		}
	}
	return said.String()
}

// OneGoroutine skips a test under the race detector that starts no goroutine, and asks for no memory of a pool: nothing
// is left there for it to find.
func OneGoroutine(tb testing.TB) {
	tb.Helper()
	if Race {
		tb.Skip("nothing here is concurrent, and under -race it takes seconds")
	}
}

// Fewer returns n, or a quarter of it under the race detector. It is for tests
// whose work is the same there and takes much longer: steps that are counted, bytes that
// are copied.
func Fewer(n int) int {
	if Race {
		return n / 4
	}
	return n
}

// ReleaseFIFO ends what waits for the other end of a FIFO, or is going to: what has begun to open it has it open,
// what reads it is at its end, and what comes later finds no file.
func ReleaseFIFO(tb testing.TB, path string) {
	tb.Helper()
	both, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		tb.Fatal(err)
	}
	if err := errors.Join(os.Remove(path), both.Close()); err != nil {
		tb.Error(err)
	}
}
