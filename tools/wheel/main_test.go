// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPythonVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v0.1.0":                                 "0.1.0",
		"v0.2.0-rc1":                             "0.2.0.dev0+rc1",
		"0.0.0-check":                            "0.0.0.dev0+check",
		"v0.1.1-0.20261127111246-25250bb6+dirty": "0.1.1.dev0+0.20261127111246.25250bb6.dirty",
	} {
		if got := pythonVersion(version); got != want {
			t.Errorf("%s: got %s, want %s", version, got, want)
		}
	}
}

func TestTheMetadata(t *testing.T) {
	p, err := readProject("../../bindings/python")
	if err != nil {
		t.Fatal(err)
	}
	got := p.metadata("0.1.0", []string{"LICENSE"})
	for _, want := range []string{"Name: tagbus", "Version: 0.1.0", "Requires-Python: >=3.9", "Requires-Dist: cffi", `; extra == "numpy"`, "License: Apache-2.0", "License-File: LICENSE"} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwithout %q", got, want)
		}
	}
}

// TestNotALibrary: what is no library of glibc is an error that names it.
func TestNotALibrary(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	static, err := os.Executable() // a test, which imports nothing if it is built without cgo
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{text, static + ".none"} {
		if got, err := glibc(file); err == nil {
			t.Errorf("%s: got %v and no error", file, got)
		}
	}
	w := wheel{version: "0.1.0", arch: "arm7", time: time.Unix(0, 0)}
	if _, _, err := w.make(); err == nil || !strings.Contains(err.Error(), "arm7") {
		t.Errorf("got %v, want an error that names the processor", err)
	}
}

// TestGlibcFiles: a library beyond glibc has to come with the package.
func TestGlibcFiles(t *testing.T) {
	for name, want := range map[string]bool{
		"libc.so.6": true, "ld-linux-x86-64.so.2": true, "ld-linux-aarch64.so.1": true, "libpthread.so.0": true,
		"libstdc++.so.6": false, "libcrypto.so.3": false, "libfabric.so.1": false, "libc.musl-x86_64.so.1": false,
	} {
		if got := glibcFiles.MatchString(name); got != want {
			t.Errorf("%s: got %t, want %t", name, got, want)
		}
	}
}
