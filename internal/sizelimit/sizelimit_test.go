// SPDX-License-Identifier: Apache-2.0

package sizelimit_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"tagbus/internal/sizelimit"
)

// TestExplain: the file and the limit are named, once, and it stays the error of the system.
func TestExplain(t *testing.T) {
	for _, err := range []error{syscall.EFBIG, &fs.PathError{Op: "write", Path: "run.tbr", Err: syscall.EFBIG}, fmt.Errorf("header: %w", &fs.PathError{Op: "write", Path: "run.tbr", Err: syscall.EFBIG})} {
		got := sizelimit.Explain(err)
		if text := got.Error(); !errors.Is(got, syscall.EFBIG) || !strings.Contains(text, ": its file system takes no larger one: ") && !strings.Contains(text, " bytes (ulimit -f, ") {
			t.Errorf("got %q of %v, want the limit and EFBIG", text, err)
		}
		if path := (*fs.PathError)(nil); errors.As(err, &path) && !strings.HasPrefix(got.Error(), "write run.tbr: file too large: ") {
			t.Errorf("got %q, want the file first", got)
		}
		if again := sizelimit.Explain(fmt.Errorf("once more: %w", got)); strings.Count(again.Error(), "file too large") != 1 || !strings.HasPrefix(again.Error(), "once more: ") {
			t.Errorf("got %q, want it as it is", again)
		}
	}
	full := &fs.PathError{Op: "write", Path: "run.tbr", Err: syscall.ENOSPC}
	if got := sizelimit.Explain(full); !errors.Is(got, full) || sizelimit.Explain(nil) != nil {
		t.Errorf("got %v, want what it was", got)
	}
	if got := (&sizelimit.Error{Bytes: 20480, Process: true}).Error(); got != "file too large: files of this process may have 20480 bytes (ulimit -f, LimitFSIZE= of systemd): raise that limit" {
		t.Errorf("got %q", got)
	}
}
