// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tagbus/bus/directory/file"
)

func TestDirectory_aFolderThatCannotBeRead(t *testing.T) {
	loop := filepath.Join(t.TempDir(), "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Open(loop, manual); !errors.Is(err, file.ErrUnreadable) || !errors.Is(err, syscall.ELOOP) {
		t.Errorf("got %v, want ErrUnreadable and ELOOP", err)
	}
}

func TestDirectory_tooManyFiles(t *testing.T) {
	folder := t.TempDir()
	config := manual
	config.MaxFiles = 10
	publisher := open(t, folder, config)
	a := announce(t, publisher, entry("a", 1))
	d := open(t, folder, config)
	if entries, err := d.List(); err != nil || len(entries) != 1 {
		t.Fatalf("got %v, %v, want a", entries, err)
	}
	for i := range 30 {
		name := fmt.Sprintf("b%d", i)
		write(t, folder, name+".jsonl", encode(t, entry(name, 1)))
	}
	entries, err := d.List()
	if !errors.Is(err, file.ErrTooManyFiles) || len(entries) != 10 || entries[0].Instance != "a" {
		t.Errorf("got %d entries, %v, want 10 with a, which was known, and ErrTooManyFiles", len(entries), err)
	}
	if err := a.Withdraw(); err != nil {
		t.Fatal(err)
	}
	if entries, _ := d.List(); len(entries) < 9 || entries[0].Instance == "a" {
		t.Errorf("got %v, want a to be gone", entries)
	}
}

func TestDirectory_errorsOfALostFolderAreShort(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "bus")
	_, err := open(t, folder, manual).List()
	want := "directory/file: " + folder + ": directory is missing: start a publisher or a receiver with the same folder, or check the path; it is looked for again"
	if fmt.Sprint(err) != want {
		t.Errorf("got %v, want %v", err, want)
	}
}

// TestAnEntryThatOthersMayNotRead is the mistake of the program that writes it, and of its umask.
func TestAnEntryThatOthersMayNotRead(t *testing.T) {
	err := file.FileError("/bus/x.jsonl", &os.PathError{Op: "open", Path: "x.jsonl", Err: syscall.EACCES})
	wrong := (*file.PathError)(nil)
	if !errors.As(err, &wrong) || !errors.Is(err, file.ErrUnreadable) || !strings.Contains(wrong.Hint, "with a umask that lets others read") {
		t.Errorf("got %v, want advice about the umask", err)
	}
}
