// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"tagbus/cmd/internal/cli"
)

// TestFileErrorsNameTheFileThatExists and what to do.
func TestFileErrorsNameTheFileThatExists(t *testing.T) {
	failed := func(name string, err error) error { return &fs.PathError{Op: "write", Path: name, Err: err} }
	tests := []struct {
		name string
		err  error
		want string // ends with *: that is the beginning
	}{
		{"nothing", nil, ""},
		{"a disk that is full", failed("run.tbr.new", syscall.ENOSPC), "write run.tbr: no space left on device: make room, or choose a file elsewhere"},
		{"a quota", failed("run.tbr", syscall.EDQUOT), "write run.tbr: disk quota exceeded: make room, or choose a file elsewhere"},
		{"a limit of the process or of the file system", failed("run.tbr.new", syscall.EFBIG), "write run.tbr: file too large: *"},
		{"another", failed("/tmp/.run.123", syscall.EIO), "write run.tbr: input/output error"},
		{"one that names no file", syscall.EIO, "input/output error"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := cli.FileError("run.tbr", test.err)
			if test.err == nil {
				if got != nil {
					t.Errorf("got %v, want none", got)
				}
				return
			}
			begins, open := strings.CutSuffix(test.want, "*")
			if text := got.Error(); text != test.want && (!open || !strings.HasPrefix(text, begins) || text == begins) {
				t.Errorf("got %q, want %q", text, test.want)
			}
			if cause := errors.Unwrap(test.err); cause != nil && !errors.Is(got, cause) {
				t.Errorf("got %v, want it to wrap %v", got, cause)
			}
		})
	}
}

// TestARemovedFileIsNotLookedFor.
func TestARemovedFileIsNotLookedFor(t *testing.T) {
	full := &fs.PathError{Op: "write", Path: "part.tbr", Err: syscall.ENOSPC}
	if got, want := cli.Removed("part.tbr", full).Error(), "write part.tbr: no space left on device: make room, or choose a file elsewhere; what was written of it is removed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := cli.Removed("other.tbr", full); !errors.Is(got, full) || got.Error() != full.Error() {
		t.Errorf("of another file: got %v, want %v", got, full)
	}
}
