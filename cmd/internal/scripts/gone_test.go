// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tagbus/internal/testkit"
)

// TestAReaderThatHasGone wants no more: a program whose output goes to a pipe that is closed says
// nothing about it, and has not failed, whatever it was to write.
func TestAReaderThatHasGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testkit.Must(t, os.Mkdir(filepath.Join(dir, "bus"), 0o700))
	file := filepath.Join(dir, "old.tbr")
	writeOneMessage(t, file)
	for _, command := range []string{
		"publisher --help", "subscriber --help", "tagbus --help", "tagbus ls --help", "tagbus rec --help", "tagbus rec cat --help", "tagbus pub --help",
		"publisher --version", "tagbus --version", "publisher --fabrics",
		"tagbus completion bash", "tagbus completion zsh", "tagbus completion fish",
		"tagbus --json ls", "tagbus check", "tagbus check --json", "tagbus losses --watch", "tagbus top --count 9",
		"tagbus rec info FILE", "tagbus rec info FILE --json", "tagbus rec cat FILE", "tagbus rec verify FILE", "tagbus rec convert FILE --to csv --out -",
		"publisher --tags 1 --emulate 16 --count 1 --json --quiet", "tagbus cert init --dir DIR/ca --name x --json",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			reader, writer, err := os.Pipe()
			testkit.Must(t, err)
			_ = reader.Close()
			defer writer.Close()
			words := strings.Fields(strings.NewReplacer("FILE", file, "DIR", dir).Replace(command))
			cmd := exec.Command(words[0], words[1:]...)
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = writer, &said
			cmd.Env = append(os.Environ(), "GORACE="+raceOptions, "TAGBUS_BUS="+filepath.Join(dir, "bus"))
			if err := cmd.Run(); err != nil {
				t.Errorf("got %v: %s, want status 0", err, &said)
			}
			if text := said.String(); strings.Contains(text, "broken pipe") || strings.Contains(text, "--help") {
				t.Errorf("got %q, want no word about the reader", text)
			}
		})
	}
}

// TestATerminalThatGoes: what has none to write to any more ends with a signal, and without one, as a
// program does that its shell has told to ignore it.
func TestATerminalThatGoes(t *testing.T) {
	t.Parallel()
	bus := t.TempDir()
	publisher := run(t, "publisher", "publisher", "--bus", bus, "--tags", "1", "--emulate", "16", "--rate", "100")
	publisher.await("publishes on")
	const told, untold = true, false
	for _, test := range []struct {
		command, shows string
		ends           []bool
	}{
		{"tagbus --bus BUS top --interval 100ms", "q quit", []bool{told, untold}},
		{"tagbus --bus BUS top --interval 100ms --count 9999", "NAME", []bool{told, untold}},
		{"tagbus --bus BUS hz 1 --window 100ms", "MSG/S", []bool{told, untold}},
		{"tagbus --bus BUS bw 1 --window 100ms", "/S", []bool{told, untold}},
		{"tagbus --bus BUS ls --watch 100ms", "NAME|TAG", []bool{told, untold}},
		{"tagbus --bus BUS losses --watch 100ms", "losses|unconfirmed", []bool{told, untold}},
		{"tagbus --bus BUS info --watch 100ms 1", "SERVED BY", []bool{told, untold}},
		{"tagbus --bus BUS check --watch 100ms --verbose", "OK|WARNING", []bool{told}}, // writes what changes
		{"tagbus --bus BUS sub 1 --policy drop-oldest", "0x0", []bool{told, untold}},
		{"subscriber --bus BUS --tags 1 --print hex --json", "0x0", []bool{told, untold}},
	} {
		for _, signalled := range test.ends {
			t.Run(fmt.Sprintf("%s/%t", test.command, signalled), func(t *testing.T) {
				t.Parallel()
				words := strings.Fields(strings.ReplaceAll(test.command, "BUS", bus))
				if !signalled {
					words = append([]string{"sh", "-c", `trap "" HUP; exec "$@"`, "sh"}, words...)
				}
				c := onConsole(t, words...)
				c.await(0, test.shows)
				c.hangUp(0)
			})
		}
	}
}

// TestASummaryThatNoTerminalShows is not what fails a run.
func TestASummaryThatNoTerminalShows(t *testing.T) {
	t.Parallel()
	c := onConsole(t, "publisher", "--bus", t.TempDir(), "--tags", "1", "--emulate", "16", "--rate", "10", "--json")
	c.await(0, "publishes on")
	c.hangUp(0)
}
