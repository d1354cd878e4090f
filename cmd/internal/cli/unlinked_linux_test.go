// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tagbus/cmd/internal/cli"
	"tagbus/internal/testkit"
)

func TestUnlinked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	f, err := os.Create(path)
	testkit.Must(t, err)
	defer func() { _ = f.Close() }()
	if err := cli.Unlinked("a", f); err != nil {
		t.Errorf("got %v of a file in its place", err)
	}
	testkit.Must(t, os.Rename(path, path+".moved"))
	if err := cli.Unlinked("a", f); err != nil {
		t.Errorf("got %v of a file that was moved", err)
	}
	testkit.Must(t, os.Remove(path+".moved"))
	if err := cli.Unlinked("a", f); !errors.Is(err, cli.ErrUnlinked) || err.Error() != "write a: it was removed while it was written: nothing of it is left" {
		t.Errorf("got %v of a file that was removed", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	testkit.Must(t, err)
	defer func() { _ = null.Close() }()
	if err := cli.Unlinked(os.DevNull, null); err != nil {
		t.Errorf("got %v of a device", err)
	}
}
