// SPDX-License-Identifier: Apache-2.0

package syserror

import (
	"io/fs"
	"syscall"
	"testing"
)

func TestReaderGoneAndDiskFull(t *testing.T) {
	others := own
	for _, tt := range []struct {
		name       string
		system     numbers
		err        error
		gone, full bool
	}{
		{"none", windows, nil, false, false},
		{"EPIPE", others, syscall.EPIPE, true, false},
		{"ENOSPC", others, syscall.ENOSPC, false, true},
		{"EDQUOT", others, syscall.EDQUOT, false, true},
		{"another", others, syscall.EIO, false, false},
		{"ERROR_BROKEN_PIPE", windows, syscall.Errno(109), true, false},
		{"ERROR_NO_DATA", windows, syscall.Errno(232), true, false},
		{"ERROR_HANDLE_DISK_FULL", windows, syscall.Errno(39), false, true},
		{"ERROR_DISK_FULL", windows, syscall.Errno(112), false, true},
		{"ERROR_DISK_QUOTA_EXCEEDED", windows, syscall.Errno(1295), false, true},
		{"EPIPE on Windows", windows, syscall.EPIPE, true, false},
		{"a number of Windows elsewhere", numbers{}, syscall.Errno(232), false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := own
			own = tt.system
			defer func() { own = before }()
			err := tt.err
			if err != nil {
				err = &fs.PathError{Op: "write", Path: "file", Err: err}
			}
			if gone, full := ReaderGone(err), DiskFull(err); gone != tt.gone || full != tt.full {
				t.Errorf("%v: got gone %t and full %t, want %t and %t", err, gone, full, tt.gone, tt.full)
			}
		})
	}
}
