// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"errors"
	"fmt"
	"testing"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
)

// A file that is not read may be of a publisher; what no program of tagbus writes is of none.
func TestPathError_saysWhetherEntriesAreHidden(t *testing.T) {
	for _, test := range []struct {
		path             string
		err              error
		hidden, harmless bool
	}{
		{"/bus/a.jsonl", file.ErrUnreadable, true, false},
		{"/bus", file.ErrUnreadable, false, false},
		{"/bus/a.jsonl", file.ErrDamaged, true, false},
		{"/bus", file.ErrTooManyFiles, true, false},
		{"/bus/a.jsonl", file.ErrForeignOwner, true, false},
		{"/bus/a b.jsonl", file.ErrName, false, true},
		{"/bus/a.jsonl", file.ErrNotRegular, false, true},
		{"/bus", file.ErrLeftBehind, false, true},
		{"/bus", file.ErrHangs, false, false},
	} {
		err := &file.PathError{Path: test.path, Err: fmt.Errorf("%w: why", test.err)}
		if errors.Is(err, directory.ErrHidden) != test.hidden || errors.Is(err, directory.ErrHarmless) != test.harmless {
			t.Errorf("%v: got hidden %t, harmless %t, want %t, %t", err, errors.Is(err, directory.ErrHidden), errors.Is(err, directory.ErrHarmless), test.hidden, test.harmless)
		}
	}
}
