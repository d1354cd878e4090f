// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/bus/directory/file"
)

func listClients(tb testing.TB, d *file.Directory) []directory.Entry {
	tb.Helper()
	entries, err := d.Clients().List()
	if err != nil {
		tb.Errorf("got %v from List, want nil", err)
	}
	return entries
}

// TestDirectory_Clients_theirFolder is made by the first one, for all that may write the folder around it, and
// not if that is missing.
func TestDirectory_Clients_theirFolder(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "mistyped")
	d := open(t, missing, manual)
	if entries := listClients(t, d); len(entries) != 0 {
		t.Errorf("got %v, want none", entries)
	}
	if _, err := d.Clients().Announce(directorytest.Client("c")); !errors.Is(err, file.ErrUnwritable) {
		t.Errorf("got %v, want ErrUnwritable", err)
	}
	if _, err := os.Stat(missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that a client leaves no folder behind", err)
	}
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	d = open(t, folder, manual)
	if _, err := d.Clients().Announce(directorytest.Client("c", 1)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(folder, "clients"))
	if err != nil || info.Mode() != os.ModeDir|os.ModeSticky|0o777 {
		t.Errorf("got %v, %v, want the mode of the folder around it", info.Mode(), err)
	}
	if entries := listClients(t, open(t, folder, manual)); len(entries) != 1 || !entries[0].Equal(directorytest.Client("c", 1)) {
		t.Errorf("got %v from another process, want the client", entries)
	}
	survey, err := file.Look(folder, manual)
	if err != nil || survey.Passed != 0 || len(survey.Files) != 0 {
		t.Errorf("got %+v, %v, want a folder without anything strange", survey, err)
	}
}

// TestDirectory_Clients_doNotReadEachOther: of 10,000, none looks at the files of the others.
func TestDirectory_Clients_doNotReadEachOther(t *testing.T) {
	folder := t.TempDir()
	d := open(t, folder, file.Config{Poll: time.Millisecond, Expiry: time.Second})
	for i := range 200 {
		if _, err := d.Clients().Announce(directorytest.Client(fmt.Sprint("c", i))); err != nil {
			t.Fatal(err)
		}
	}
	if looks := d.Clients().(*file.Directory).Stats().Looks; looks != 0 {
		t.Errorf("got %d looks at the folder of the clients, want none", looks)
	}
	if entries, err := d.List(); len(entries) != 0 || err != nil {
		t.Errorf("got %v, %v, want no publisher", entries, err)
	}
}

// TestDirectory_Clients_whatDeadOnesHaveLeftIsRemoved by clients that start.
func TestDirectory_Clients_whatDeadOnesHaveLeftIsRemoved(t *testing.T) {
	folder := t.TempDir()
	d := open(t, folder, manual)
	if _, err := d.Clients().Announce(directorytest.Client("first")); err != nil {
		t.Fatal(err)
	}
	dead := file.ThisProcess()
	dead.PID, dead.Start = 1<<22+1, 1 // no process has it
	write := func(instance string, age time.Duration) string {
		data, err := file.Encode(directorytest.Client(instance), 1, time.Minute, dead, 1)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(folder, "clients", instance+".jsonl")
		when := time.Now().Add(-age)
		if err := errors.Join(os.WriteFile(name, data, 0o600), os.Chtimes(name, when, when)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	write("old", time.Hour)
	fresh := write("fresh", time.Minute)
	for _, e := range listClients(t, open(t, folder, manual)) {
		if e.Instance != "first" {
			t.Errorf("got %v, want no client whose process has ended", e)
		}
	}
	old := write("old", time.Hour) // List has removed it
	if _, err := d.Clients().Announce(directorytest.Client("next")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want the old file removed", err)
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Errorf("got %v, want the fresh file left", err)
	}
}

// TestDirectory_Clients_leaveWhatMayBeOfOthers by clients that start: what is no entry, and that of a client which beats seldom.
func TestDirectory_Clients_leaveWhatMayBeOfOthers(t *testing.T) {
	folder := t.TempDir()
	clients := filepath.Join(folder, "clients")
	mkdir(t, clients)
	old := time.Now().Add(-30 * time.Hour)
	add := func(name string, data []byte) {
		write(t, clients, name, data)
		written(t, clients, name, old)
	}
	client := func(instance string, beat time.Duration) {
		data, err := file.Encode(directorytest.Client(instance), 1, beat, file.Process{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		add(instance+".jsonl", data)
	}
	add("events.jsonl", []byte(`{"event":1}`+"\n"))
	client("silent", time.Minute)
	client("slow", time.Hour) // 60 beats have not passed
	if _, err := open(t, folder, file.Config{}).Clients().Announce(directorytest.Client("next")); err != nil {
		t.Fatal(err)
	}
	if got, want := names(t, clients), []string{"events.jsonl", "next.jsonl", "slow.jsonl"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestDirectory_Clients_aFolderThatIsALink is not followed: a user that may write the folder around it leads no program elsewhere.
func TestDirectory_Clients_aFolderThatIsALink(t *testing.T) {
	folder, elsewhere := t.TempDir(), t.TempDir()
	data, err := file.Encode(directorytest.Client("silent"), 1, time.Minute, file.Process{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	write(t, elsewhere, "silent.jsonl", data)
	written(t, elsewhere, "silent.jsonl", time.Now().Add(-30*time.Hour))
	if err := os.Symlink(elsewhere, filepath.Join(folder, "clients")); err != nil {
		t.Fatal(err)
	}
	d := open(t, folder, file.Config{})
	_, err = d.Clients().Announce(directorytest.Client("next"))
	_, err2 := d.Clients().List()
	for _, err := range []error{err, err2} {
		if !errors.Is(err, file.ErrNotDirectory) || !strings.Contains(err.Error(), "clients: not a directory: remove it") {
			t.Errorf("got %v, want ErrNotDirectory and what to do", err)
		}
	}
	if got := names(t, elsewhere); !slices.Equal(got, []string{"silent.jsonl"}) {
		t.Errorf("got %q behind the link, want that nothing has changed", got)
	}
}
