// SPDX-License-Identifier: Apache-2.0

package clib

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"tagbus/internal/testkit"
)

// sources are the folders with all that programs of tests are compiled of.
var sources = []string{"bindings/c", "bindings/cpp", "bindings/testdata", "cmd/libtagbus/libtest/testdata"}

// key says of what a program is compiled: by which compiler, with which arguments, of which sources.
func key(tb testing.TB, root, compiler string, args []string) string {
	tb.Helper()
	testkit.DependsOnTree()
	sum := sha256.New()
	version, err := exec.Command(compiler, "--version").Output()
	if err != nil {
		tb.Fatal(err)
	}
	fmt.Fprintf(sum, "%s %s %q\n", compiler, version, args)
	for _, dir := range sources {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			fmt.Fprintf(sum, "%s %d\n%s", path, len(data), data)
			return err
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	for _, arg := range args { // an object that was compiled before
		if filepath.IsAbs(arg) && filepath.Ext(arg) == ".o" {
			data, err := os.ReadFile(arg)
			if err != nil {
				tb.Fatal(err)
			}
			fmt.Fprintf(sum, "%d\n%s", len(data), data)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

// place returns a folder for a program that is compiled now, beside where it is kept. The compiler alone
// writes it: a program that this process had open for writing could not be started. What is older than a
// week goes.
func place(tb testing.TB, kept string) string {
	tb.Helper()
	all, _ := os.ReadDir(filepath.Dir(kept)) // there may be none
	for _, old := range all {
		if info, err := old.Info(); err == nil && time.Since(info.ModTime()) > 7*24*time.Hour {
			_ = os.RemoveAll(filepath.Join(filepath.Dir(kept), old.Name())) // the next one tries again
		}
	}
	if err := os.MkdirAll(kept, 0o755); err != nil {
		tb.Fatal(err)
	}
	dir, err := os.MkdirTemp(kept, "new-*") //nolint:usetesting // on the file system of kept, so that keep can rename what is in it
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// keep keeps a program for later tests, and returns where it is.
func keep(program, kept string) string {
	if os.Rename(program, kept) != nil {
		return program
	}
	return kept
}
