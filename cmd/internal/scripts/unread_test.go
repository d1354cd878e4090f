// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tagbus/internal/testkit"
)

// awaitEntry waits until a program has an entry in a folder, which it makes once it takes signals.
func awaitEntry(t *testing.T, dir string) {
	t.Helper()
	for begun := time.Now(); ; idle(10 * time.Millisecond) {
		found := false
		_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error { // what goes meanwhile is looked for again
			found = found || err == nil && !e.IsDir()
			return nil
		})
		if found {
			return
		}
		if time.Since(begun) > patience {
			t.Fatalf("got no entry in %s, want one", dir)
		}
	}
}

// TestACommandEndsThoughItsStandardErrorIsNotRead: with a signal and by itself,
// with status 1, as what it had to say is lost.
func TestACommandEndsThoughItsStandardErrorIsNotRead(t *testing.T) {
	publisher := []string{"publisher", "--tags", "1-4", "--emulate", "100", "--rate", "1k"}
	subscriber := []string{"subscriber", "--tags", "1-4", "--per-tag"}
	tests := []struct {
		name   string
		args   []string
		signal bool
	}{
		{"publisher, signal", publisher, true},
		{"publisher, duration", append(publisher, "--duration", "300ms"), false},
		{"publisher, JSON", append(publisher, "--duration", "300ms", "--json"), false},
		{"subscriber, signal", subscriber, true},
		{"subscriber, duration", append(subscriber, "--duration", "300ms"), false},
		{"subscriber, messages and JSON", append(subscriber, "--duration", "300ms", "--output", "-", "--json"), false},
		{"usage error", []string{"publisher", "--no-such-flag"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.Command(test.args[0], append([]string{"--bus", dir}, test.args[1:]...)...)
			cmd.Env = append(os.Environ(), "GORACE="+raceOptions)
			cmd.Stderr = fullPipe(t)
			testkit.Must(t, cmd.Start())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = cmd.Wait() // the state tells
			}()
			if test.signal {
				awaitEntry(t, dir)
				testkit.Must(t, cmd.Process.Signal(syscall.SIGINT))
			}
			select {
			case <-ended:
			case <-time.After(patience):
				_ = cmd.Process.Kill() // it runs: Wait has not returned
				<-ended
				t.Fatalf("it did not end within %v", patience)
			}
			want := 1
			if test.args[1] == "--no-such-flag" {
				want = 2
			}
			if got := cmd.ProcessState.ExitCode(); got != want {
				t.Errorf("got exit status %d, want %d", got, want)
			}
		})
	}
}

// fullPipe returns the end of a pipe that takes nothing.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	var ends [2]int
	testkit.Must(t, syscall.Pipe2(ends[:], syscall.O_CLOEXEC))
	reader, writer := os.NewFile(uintptr(ends[0]), "reader"), os.NewFile(uintptr(ends[1]), "writer")
	t.Cleanup(func() {
		reader.Close()
		writer.Close()
	})
	testkit.Must(t, syscall.SetNonblock(ends[1], true))
	for page := make([]byte, 4096); ; {
		_, err := syscall.Write(ends[1], page)
		if errors.Is(err, syscall.EAGAIN) {
			break
		}
		testkit.Must(t, err)
	}
	if err := syscall.SetNonblock(ends[1], false); err != nil { // as a command finds it
		t.Fatal(err)
	}
	return writer
}
