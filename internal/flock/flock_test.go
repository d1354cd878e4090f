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
	writer, reader := open(), open()
	defer func() { _ = reader.Close() }()
	if flock.IsExclusive(reader) || !flock.Exclusive(writer) {
		t.Fatal("a file without locks counts as locked")
	}
	if !flock.IsExclusive(reader) || flock.Shared(reader) || flock.Exclusive(reader) {
		t.Error("a file that is locked counts as free")
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	if flock.IsExclusive(reader) || !flock.Exclusive(reader) {
		t.Error("a file counts as locked though it is closed")
	}
}
