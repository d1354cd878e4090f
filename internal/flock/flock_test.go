// SPDX-License-Identifier: Apache-2.0

//go:build unix

package flock_test

import (
	"os"
	"path/filepath"
	"testing"

	"tagbus/internal/flock"
)

// TestLocksLastUntilTheFileIsClosed: two descriptions of one file stand for two processes.
func TestLocksLastUntilTheFileIsClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	ends := 0
	over := func() { ends++ }
	writer, reader := open(), open()
	defer func() { _ = reader.Close() }()
	if flock.IsExclusive(reader, over) || !flock.Exclusive(writer, over) {
		t.Fatal("a file without locks counts as locked")
	}
	if !flock.IsExclusive(reader, over) || flock.Shared(reader, over) || flock.Exclusive(reader, over) {
		t.Error("a file that is locked counts as free")
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if flock.IsExclusive(reader, over) || !flock.Exclusive(reader, over) {
		t.Error("a file counts as locked though it is closed")
	}
	if ends != 7 {
		t.Errorf("got %d ends of waits, want one for each of 7 calls", ends)
	}
}
