// SPDX-License-Identifier: Apache-2.0

//go:build linux

package record_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tagbus/test/faults/internal/record"
)

type slot struct {
	Name  [8]byte
	Count uint64
}

func TestCreate_showsInOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	written, err := record.Create[slot](path, 3)
	if err != nil {
		t.Fatal(err)
	}
	read, err := record.Open[slot](path)
	if err != nil {
		t.Fatal(err)
	}
	written[2].Count = 7
	if len(read) != 3 || read[2].Count != 7 {
		t.Errorf("got %v, want 3 slots with 7 in the last", read)
	}
	if _, err := record.Create[slot](path, 3); err == nil {
		t.Error("a record is made over another one")
	}
}

func TestOpen_namesAFileThatIsNone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	if err := os.WriteFile(path, make([]byte, 17), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := record.Open[slot](path); err == nil || !strings.Contains(err.Error(), path+": 17 bytes") {
		t.Errorf("got %v, want an error that names the file and its size", err)
	}
}
