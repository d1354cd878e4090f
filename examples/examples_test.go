// SPDX-License-Identifier: Apache-2.0

// Package examples_test runs the examples that need each other.
package examples_test

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tagbus/internal/testkit"
)

// TestSenderAndReceiver builds the two programs of the netio3 guide and lets
// them talk.
func TestSenderAndReceiver(t *testing.T) {
	testkit.DependsOnTree()
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", dir, "./sender", "./receiver").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	receiver := exec.CommandContext(t.Context(), filepath.Join(dir, "receiver"), "-count", "40")
	pipe, err := receiver.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := receiver.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(pipe)
	if !lines.Scan() {
		t.Fatal("the receiver says nothing")
	}
	addr, found := strings.CutPrefix(lines.Text(), "Listening on ")
	if !found {
		t.Fatalf("got %q, want the address", lines.Text())
	}
	// More messages than buffers, so that it has to wait for some.
	sent, err := exec.CommandContext(t.Context(), filepath.Join(dir, "sender"), "-connect", addr, "-count", "40").CombinedOutput()
	if err != nil {
		t.Fatalf("sender: %v\n%s", err, sent)
	}
	if got := strings.Count(string(sent), "completed\n"); got != 40 {
		t.Errorf("the sender tells of %d completions, want 40:\n%s", got, sent)
	}
	received := 0
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "Received data of size ") {
			received++
		}
	}
	if err := receiver.Wait(); err != nil || received != 40 {
		t.Errorf("the receiver tells of %d messages, want 40; %v", received, err)
	}
	// A sender without a receiver says so.
	out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "sender"), "-connect", addr).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "connection refused") {
		t.Errorf("without a receiver: got %v, %s", err, out)
	}
}
