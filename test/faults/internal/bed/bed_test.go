// SPDX-License-Identifier: Apache-2.0

//go:build linux

package bed_test

import (
	"strings"
	"testing"

	"tagbus/test/faults/internal/bed"
)

// TestCloseAll_leavesNothing: an interrupted run ends processes and namespaces, and takes back what was done.
func TestCloseAll_leavesNothing(t *testing.T) {
	if why := bed.Missing("ip"); why != "" {
		t.Skip(why)
	}
	b, err := bed.New(t.TempDir())
	if err != nil && strings.Contains(err.Error(), "Operation not permitted") {
		t.Skip("needs the right to make network namespaces")
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.Start(b.A, "sleeper", nil, "sleep", "1000")
	if err != nil {
		t.Fatal(err)
	}
	undone := 0
	b.Undo(func() { undone++ })
	bed.CloseAll()
	<-p.Ended()
	b.Close()
	if undone != 1 {
		t.Errorf("undone: got %d times, want 1", undone)
	}
	if err := b.On(b.A, "true"); err == nil {
		t.Errorf("the host %s is still there", b.A.Name)
	}
}
