// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"tagbus/internal/testkit"
)

// TestATerminalThatTakesNothingHarmsNothing: tagbus sub leaves out what its output does
// not take. The publisher does not wait, and each message is accounted for.
func TestATerminalThatTakesNothingHarmsNothing(t *testing.T) {
	const messages = 5_000
	dir := t.TempDir()
	reader, writer, err := os.Pipe()
	testkit.Must(t, err)
	defer reader.Close()
	sub := exec.Command("tagbus", "sub", "--bus", dir, "0x100-0x1ff", "--format", "hex", "--json")
	sub.Env = append(os.Environ(), "GORACE="+raceOptions)
	var said bytes.Buffer
	sub.Stdout, sub.Stderr = writer, &said
	testkit.Must(t, sub.Start())
	writer.Close()
	pub := run(t, "pub", "tagbus", "pub", "--bus", dir, "0x100-0x1ff", "--size", "1KiB", "--count", "5000", "--rate", "10k", "--json")
	pub.finish(0)
	var published struct{ Messages, Lost uint64 }
	pub.summary(&published)
	if published.Messages != messages || published.Lost != 0 {
		t.Errorf("got %+v published, want %d and none lost", published, messages)
	}
	if err := sub.Process.Signal(syscall.SIGTERM); err != nil { // it has all, since the publisher has ended
		t.Fatal(err)
	}
	printed, err := io.ReadAll(reader) // only now
	testkit.Must(t, err)
	if err := sub.Wait(); err != nil {
		t.Errorf("sub: %v: %s", err, said.String())
	}
	var seen struct {
		Messages uint64
		LeftOut  uint64 `json:"left_out"`
		Here     uint64 `json:"left_out_here"`
		Lost     uint64
	}
	if err := json.Unmarshal(said.Bytes(), &seen); err != nil {
		t.Fatalf("%v in %q", err, said.String())
	}
	if lines := uint64(bytes.Count(printed, []byte("\n"))); lines != seen.Messages || seen.Messages+seen.LeftOut+seen.Here != messages || seen.Here == 0 || seen.Lost != 0 {
		t.Errorf("got %d lines and %+v, want all of %d shown or left out, some of them here", lines, seen, messages)
	}
}
