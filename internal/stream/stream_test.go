// SPDX-License-Identifier: Apache-2.0

package stream_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"

	"tagbus/internal/stream"
)

// failing is a stream whose writes fail.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, fmt.Errorf("write: %w", f.err) }

// TestGone: a reader that has gone is told from a stream that fails.
func TestGone(t *testing.T) {
	pipe := func(t *testing.T) io.Writer {
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = writer.Close() })
		_ = reader.Close()
		return writer
	}
	file := func(t *testing.T) io.Writer {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	tests := []struct {
		name   string
		stream func(*testing.T) io.Writer
		err    error // nil: that of a write
		want   bool
	}{
		{"a pipe without a reader", pipe, nil, true},
		{"what was a pipe", func(*testing.T) io.Writer { return failing{syscall.EPIPE} }, nil, true},
		{"a pipe in memory", func(*testing.T) io.Writer { return failing{io.ErrClosedPipe} }, nil, true},
		{"a disk that is full", func(*testing.T) io.Writer { return failing{syscall.ENOSPC} }, nil, false},
		{"no file that fails", func(*testing.T) io.Writer { return failing{syscall.EIO} }, nil, false},
		{"a file that fails", file, fmt.Errorf("write: %w", syscall.EIO), false},
		{"a file that does not", file, nil, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			to := test.stream(t)
			err := test.err
			ended := 0
			if err == nil {
				o := stream.NewOutput(to, func() { ended++ })
				_, err = o.Write([]byte("x"))
				if got := ended == 1; got != test.want || o.Gone() != test.want {
					t.Errorf("got ended %d times and gone %t, want %t", ended, o.Gone(), test.want)
				}
				if test.want && !errors.Is(err, syscall.EPIPE) {
					t.Errorf("got %v, want EPIPE", err)
				}
			}
			if got := stream.Gone(to, err); got != test.want {
				t.Errorf("of %v: got %t, want %t", err, got, test.want)
			}
		})
	}
}

// A standard output is often a file, whose disk is full: what to do is said as of any other file.
func TestAFullDiskIsToldWithWhatToDo(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT} {
		o := stream.NewOutput(stream.NewOutput(failing{errno}, nil), nil)
		want := fmt.Sprintf("write: %v: make room, or choose a file elsewhere", errno)
		if _, err := o.Write([]byte("x")); !errors.Is(err, errno) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestFile: the file behind an output is that of its stream.
func TestFile(t *testing.T) {
	if got := stream.File(stream.NewOutput(stream.NewOutput(os.Stdout, nil), nil)); got != os.Stdout {
		t.Errorf("got %v, want standard output", got)
	}
	if got := stream.File(stream.NewOutput(new(bytes.Buffer), nil)); got != nil || stream.IsTerminal(new(bytes.Buffer)) {
		t.Errorf("got %v, want none", got)
	}
}
