// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tagbus/cmd/internal/cli"
)

func TestUnlinked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := cli.Unlinked("a", f); err != nil {
		t.Errorf("got %v of a file in its place", err)
	}
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := cli.Unlinked("a", f); err != nil {
		t.Errorf("got %v of a file that was moved", err)
	}
	if err := os.Remove(path + ".moved"); err != nil {
		t.Fatal(err)
	}
	if err := cli.Unlinked("a", f); !errors.Is(err, cli.ErrUnlinked) || err.Error() != "write a: it was removed while it was written: nothing of it is left" {
		t.Errorf("got %v of a file that was removed", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	if err := cli.Unlinked(os.DevNull, null); err != nil {
		t.Errorf("got %v of a device", err)
	}
}
