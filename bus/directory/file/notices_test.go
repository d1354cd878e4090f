// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
)

// noticed does not poll within a test's time, so that only notifications can
// make these tests pass.
var noticed = file.Config{Beat: time.Hour, Poll: time.Hour, Expiry: 3 * time.Hour}

func TestDirectory_notificationsOfTheSystem(t *testing.T) {
	folder := t.TempDir()
	publisher := open(t, folder, noticed)
	events := watch(t, open(t, folder, noticed))
	a := announce(t, publisher, entry("a", 1))
	want(t, events, directory.Appeared, "a")
	if err := a.Update(entry("a", 2)); err != nil {
		t.Fatal(err)
	}
	if e := want(t, events, directory.Changed, "a"); !e.Entry.Equal(entry("a", 2)) {
		t.Errorf("got %+v, want the updated entry", e.Entry)
	}
	announce(t, publisher, entry("b", 1))
	want(t, events, directory.Appeared, "b")
	if err := a.Withdraw(); err != nil {
		t.Fatal(err)
	}
	want(t, events, directory.Gone, "a")
	if err := publisher.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, events, directory.Gone, "b")
}

func TestDirectory_notificationsComeBackWithTheFolder(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "bus")
	mkdir(t, folder)
	subscriber := open(t, folder, noticed)
	events := watch(t, subscriber)
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if e := want(t, events, directory.Problem, ""); !errors.Is(e.Err, file.ErrVanished) { // the folder's end is noticed too
		t.Errorf("got %v, want ErrVanished", e.Err)
	}
	mkdir(t, folder)
	subscriber.Scan() // as polling would
	announce(t, open(t, folder, noticed), entry("a", 1))
	want(t, events, directory.Appeared, "a")
}

func TestDirectory_withoutNotifications(t *testing.T) {
	tests := []struct {
		name string
		err  error
	}{
		{"too many instances", syscall.EMFILE},
		{"too many watches", syscall.ENOSPC},
		{"another reason", syscall.ENOSYS},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			config := file.Config{Poll: 10 * time.Millisecond}.WithFaults(func(step string) error {
				if step == "notify" {
					return test.err
				}
				return nil
			})
			events := watch(t, open(t, folder, config))
			e := want(t, events, directory.Problem, "")
			if !errors.Is(e.Err, file.ErrNoNotifications) || !errors.Is(e.Err, test.err) {
				t.Errorf("got %v, want ErrNoNotifications and its cause", e.Err)
			}
			announce(t, open(t, folder, manual), entry("a", 1))
			want(t, events, directory.Appeared, "a")
			wantNone(t, events)
		})
	}
}

// TestDirectory_noticedStrangeFiles plants links and FIFOs that are opened because a
// notification names them, without a listing that says what they are.
func TestDirectory_noticedStrangeFiles(t *testing.T) {
	tests := []struct {
		name  string
		plant func(path string) error
	}{
		{"a FIFO", func(path string) error { return syscall.Mkfifo(path, 0o644) }},
		{"a link to a good file", func(path string) error { return os.Symlink("good.jsonl", path) }},
		{"a link to the outside", func(path string) error { return os.Symlink("/dev/zero", path) }},
		{"a folder", func(path string) error { return os.Mkdir(path, 0o755) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			write(t, folder, "good.jsonl", encode(t, entry("good", 1)))
			events := watch(t, open(t, folder, noticed))
			want(t, events, directory.Appeared, "good")
			announce(t, open(t, folder, noticed), entry("later", 1)) // once this is seen, the first looks are over
			want(t, events, directory.Appeared, "later")
			if err := test.plant(filepath.Join(folder, "x.jsonl")); err != nil {
				t.Fatal(err)
			}
			if e := want(t, events, directory.Problem, ""); !errors.Is(e.Err, file.ErrNotRegular) {
				t.Errorf("got %v, want ErrNotRegular", e.Err)
			}
		})
	}
}
