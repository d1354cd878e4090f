// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/away"
)

// TestAStandardOutputThatTakesNothing does not keep a command from its end: a signal ends it. That of a file whose file
// system does not answer is said before.
func TestAStandardOutputThatTakesNothing(t *testing.T) {
	notShort(t)
	const lost = "waiting for standard output: its file system does not answer"
	for _, test := range []struct {
		name, command string
		file          bool // else it is a pipe of which one byte is read
		says          string
	}{
		{"a file", "tagbus rec cat old.rec --print hex", true, "tagbus: stopped by signal: terminated, " + lost},
		{"a summary in a file", "publisher --bus BUS --tags 1 --emulate 10 --count 1 --json", true, "publisher: stopped by signal: terminated, " + lost},
		{"a pipe", "tagbus rec cat old.rec --print hex", false, "tagbus: stopped by signal: terminated, standard output has taken nothing for "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			local := t.TempDir()
			old := filepath.Join(local, "old.rec")
			writeMessages(t, old, 1000, 1024, time.Millisecond) // more than a pipe holds
			words := strings.Fields(strings.NewReplacer("old.rec", old, "BUS", local).Replace(test.command))
			cmd := exec.Command(words[0], words[1:]...)
			cmd.Env = append(os.Environ(), "GORACE="+raceOptions)
			said := filepath.Join(local, "said")
			stderr, err := os.Create(said)
			testkit.Must(t, err)
			defer stderr.Close()
			cmd.Stderr = stderr
			if test.file {
				m := away.New(t)
				out, err := os.Create(filepath.Join(m.Path(), "out"))
				testkit.Must(t, err)
				cmd.Stdout = out
				m.Goes()
				t.Cleanup(func() {
					m.Returns()
					out.Close()
				})
			}
			reader, writer, err := os.Pipe()
			testkit.Must(t, err)
			defer reader.Close()
			if !test.file {
				cmd.Stdout = writer
			}
			testkit.Must(t, errors.Join(cmd.Start(), writer.Close()))
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = cmd.Wait() // the state tells
			}()
			text := func() string {
				data, err := os.ReadFile(said)
				testkit.Must(t, err)
				return string(data)
			}
			for begun := time.Now(); test.file && !strings.Contains(text(), lost) && time.Since(begun) < patience; {
				idle(10 * time.Millisecond)
			}
			if !test.file { // it writes
				if _, err := reader.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
			}
			testkit.Must(t, cmd.Process.Signal(syscall.SIGTERM))
			select {
			case <-ended:
			case <-time.After(patience):
				_ = cmd.Process.Kill()
				t.Fatalf("it did not end within %v", patience)
			}
			if got := text(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(got, test.says) {
				t.Errorf("got status %d and %s, want 1 and %q", cmd.ProcessState.ExitCode(), got, test.says)
			}
		})
	}
}
