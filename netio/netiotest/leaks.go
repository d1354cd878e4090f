// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"fmt"
	"os"
	"slices"

	"go.uber.org/goleak"
)

// CheckLeaks fails the test if, at its end, there are goroutines or file
// descriptors that were not there at the call. Call it first, so that what the
// test cleans up is clean by then. Not for parallel tests, nor inside a
// testing/synctest bubble.
func CheckLeaks(t TB) {
	t.Helper()
	// The runtime's own poller has descriptors that come with its first use
	// and stay: a pipe is such a use.
	for _, f := range pipe(t) {
		if err := f.Close(); err != nil {
			t.Fatalf("close a pipe: got error %v, want none", err)
		}
	}
	goroutines := goleak.IgnoreCurrent()
	before, err := openFiles()
	if err != nil {
		t.Fatalf("list the open files: got error %v, want none", err)
	}
	t.Cleanup(func() {
		// Find gives goroutines that are ending a moment to do so.
		if err := goleak.Find(goroutines); err != nil {
			t.Errorf("goroutines left over: %v", err)
		}
		after, err := openFiles()
		if err != nil {
			t.Errorf("list the open files: got error %v, want none", err)
		}
		for _, f := range before {
			if i := slices.Index(after, f); i >= 0 {
				after = slices.Delete(after, i, i+1)
			}
		}
		if len(after) > 0 {
			t.Errorf("file descriptors left over: got %q, want none", after)
		}
	})
}

func pipe(t TB) []*os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatalf("open a pipe: got error %v, want none", err)
	}
	return []*os.File{r, w}
}

// openFiles returns what the process's file descriptors are open on, each as
// its number and its target.
func openFiles() ([]string, error) {
	const dir = "/proc/self/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("netiotest: %w", err)
	}
	var files []string
	for _, e := range entries {
		// The descriptor that ReadDir used is closed by now.
		if target, err := os.Readlink(dir + "/" + e.Name()); err == nil {
			files = append(files, e.Name()+" "+target)
		}
	}
	return files, nil
}
