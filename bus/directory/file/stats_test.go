// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"path/filepath"
	"testing"

	"tagbus/bus/directory/directorytest"
	"tagbus/bus/directory/file"
)

func TestDirectory_Stats_tellWhetherItIsUp(t *testing.T) {
	d, err := file.Open(filepath.Join(t.TempDir(), "bus"), file.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.List(); err == nil {
		t.Fatal("got nil from List without a folder, want an error")
	}
	if s := d.Stats(); s.Up || !s.LastContact.IsZero() || s.Looks == 0 || s.Problems != 1 || s.Entries != 0 || s.Registrations != 0 {
		t.Errorf("got %+v without a folder, want a look that found none", s)
	}
	directorytest.Announce(t, d, directorytest.Entry("a", 1))
	if _, err := d.List(); err != nil {
		t.Fatal(err)
	}
	if s := d.Stats(); !s.Up || s.LastContact.IsZero() || s.Looks < 2 || s.Problems != 0 || s.Entries != 1 || s.Registrations != 1 || s.Requests != nil {
		t.Errorf("got %+v with an entry, want it, and contact", s)
	}
}
