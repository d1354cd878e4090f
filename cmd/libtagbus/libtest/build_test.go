// SPDX-License-Identifier: Apache-2.0

package libtest_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/clib"
)

// TestTheLibraryIsThereWhileItIsBuiltAgain: test programs of several packages use one folder, in which each has the
// library built. A file that is written again is empty for those that read it meanwhile.
func TestTheLibraryIsThereWhileItIsBuiltAgain(t *testing.T) {
	dir := clib.Build(t)
	before := filesOf(t, dir)
	again := exec.CommandContext(t.Context(), filepath.Join(clib.Root(t), "scripts", "lib.sh"))
	again.Env = clib.Environ(dir)
	if out, err := again.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, now := range filesOf(t, dir) {
		was := before[name]
		if was == nil || !os.SameFile(was, now) || !was.ModTime().Equal(now.ModTime()) && name != "libtagbus-core.so" { // which the go command touches
			t.Errorf("%s: is written again", name)
		}
	}
}

// filesOf returns the files below a folder.
func filesOf(t *testing.T, dir string) map[string]fs.FileInfo {
	t.Helper()
	files := make(map[string]fs.FileInfo)
	testkit.Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == ".lock" {
			return err
		}
		info, err := d.Info()
		name, _ := filepath.Rel(dir, path)
		files[name] = info
		return err
	}))
	if len(files) < 10 {
		t.Errorf("got %d files, want the library and what belongs to it", len(files))
	}
	return files
}
