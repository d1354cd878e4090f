// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/rec/rectest"
	"tagbus/internal/testkit"
	"tagbus/recording"
	"tagbus/tags"
)

// TestARecordingOfManyTags costs tagbus rec info at most 200 bytes for each of them, in columns and
// in JSON: what it takes was once 1.1 GB for a million.
func TestARecordingOfManyTags(t *testing.T) {
	notShort(t)
	if testkit.Race {
		t.Skip("the race detector takes memory, which is what is tested")
	}
	t.Parallel()
	const count, perTag, program = 400_000, 200, 72 << 20
	file := filepath.Join(t.TempDir(), "many.tbr")
	writeTags(t, file, count)
	for _, test := range []struct{ option, begins string }{{"--exact", "TAG "}, {"--sort=count", "TAG "}, {"--json", `{"tag":`}} {
		t.Run(test.option, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("tagbus", "rec", "info", file, test.option)
			out, err := cmd.StdoutPipe()
			testkit.Must(t, err)
			testkit.Must(t, cmd.Start())
			defer func() {
				_ = cmd.Process.Kill() // it waits for its output to be read
				_ = cmd.Wait()
			}()
			for lines := bufio.NewScanner(out); lines.Scan(); {
				if strings.HasPrefix(lines.Text(), test.begins) {
					break
				}
			}
			if got, most := memoryOf(t, cmd.Process.Pid), count*perTag+program; got > most || got < 1<<20 {
				t.Errorf("got %d bytes of memory, want at most %d", got, most)
			}
		})
	}
}

// memoryOf returns the most memory that a process has had.
func memoryOf(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	testkit.Must(t, err)
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	var kilobytes int
	if _, err := fmt.Sscan(after, &kilobytes); err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}

// writeTags makes a recording of a message of each of some tags.
func writeTags(t *testing.T, name string, count int) {
	t.Helper()
	from, at := &bus.Peer{Instance: "AAAAAAAAAAAAAAAAAAAAAA", Name: "felix"}, time.Now()
	rectest.Write(t, name, recording.Header{}, recording.Config{}, func(yield func(recording.Record) bool) {
		for i := range count {
			m := bus.Message{Tag: tags.Tag(i), Counter: 1, Publisher: from, Data: make([]byte, 8)}
			yield(rectest.Message(at.Add(time.Duration(i)*time.Microsecond), m))
		}
	})
}
