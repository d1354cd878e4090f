// SPDX-License-Identifier: Apache-2.0

// Package stream notices that the reader of what a program writes has gone.
//
// What has gone is a pipe without a reader, or a terminal that was hung up. Either wants no
// more, and that is no failure: a program ends in order and says nothing about it.
package stream

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/term"
)

// File returns the file that a stream is, or that is behind it; nil: none is.
func File(stream any) *os.File {
	switch s := stream.(type) {
	case *os.File:
		return s
	case interface{ File() *os.File }:
		return s.File()
	default:
		return nil
	}
}

// IsTerminal reports whether a person sees what is written to a stream, or types what is
// read from it. Threads: any.
func IsTerminal(stream any) bool {
	f := File(stream)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// Gone reports whether err, of a write to a stream, is that its reader has gone.
func Gone(stream any, err error) bool {
	switch {
	case errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe):
		return true
	case errors.Is(err, syscall.EIO):
		f := File(stream)
		return f != nil && hungUp(f)
	default:
		return false
	}
}

// hungUp reports whether a file is a terminal that was hung up: it fails whatever it is asked, where
// a tape or a disk that fails is no terminal.
func hungUp(f *os.File) bool {
	_, err := term.GetState(int(f.Fd()))
	return errors.Is(err, syscall.EIO)
}

// Output is a standard output whose reader may go. A write then fails with EPIPE, also to a
// terminal.
//
// Threads: any.
type Output struct {
	to   io.Writer
	ends func() // nil: nothing
	gone atomic.Bool
}

// NewOutput returns an output that is a stream.
//
//   - ends: is called when its reader has gone; nil: nothing is.
func NewOutput(to io.Writer, ends func()) *Output { return &Output{to: to, ends: ends} }

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if !Gone(o.to, err) {
		return n, err
	}
	o.gone.Store(true)
	if o.ends != nil {
		o.ends()
	}
	return n, &fs.PathError{Op: "write", Path: "standard output", Err: syscall.EPIPE}
}

// Gone reports whether a write has found that the reader has gone. Blocks: never.
func (o *Output) Gone() bool { return o.gone.Load() }

// File returns the file behind the output; nil: there is none.
func (o *Output) File() *os.File { return File(o.to) }
