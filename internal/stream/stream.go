// SPDX-License-Identifier: Apache-2.0

// Package stream notices that the reader of what a program writes has gone.
//
// What has gone is a pipe without a reader, or a terminal that was hung up. Either wants no
// more, and that is no failure: a program ends in order and says nothing about it.
package stream

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/term"

	"tagbus/internal/sizelimit"
	"tagbus/internal/stuck"
	"tagbus/internal/syserror"
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
	case syserror.ReaderGone(err), errors.Is(err, io.ErrClosedPipe):
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
// terminal. A signal ends a program whose write does not return; see package stuck.
//
// Threads: any.
type Output struct {
	to   io.Writer
	wait *stuck.Output
	ends func() // nil: nothing
	gone atomic.Bool
}

// NewOutput returns an output that is a stream.
//
//   - ends: is called when its reader has gone; nil: nothing is.
func NewOutput(to io.Writer, ends func()) *Output {
	return &Output{to: to, wait: stuck.NewOutput(File(to), "standard output"), ends: ends}
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	return o.see(o.wait.Write(func() (int, error) { return o.to.Write(p) }))
}

// see returns what a write has returned, in words of its own if the reader has gone.
func (o *Output) see(n int, err error) (int, error) {
	if !Gone(o.to, err) {
		return n, explain(err)
	}
	o.gone.Store(true)
	if o.ends != nil {
		o.ends()
	}
	return n, &fs.PathError{Op: "write", Path: "standard output", Err: syscall.EPIPE}
}

// explain adds what to do about a file that takes no more, as standard output may be.
func explain(err error) error {
	if syserror.DiskFull(err) && !errors.As(err, new(*fullError)) { // else an output behind this one has said it
		return &fullError{err}
	}
	return sizelimit.Explain(err)
}

// fullError is that a disk is full.
type fullError struct{ err error }

func (e *fullError) Error() string {
	return fmt.Sprintf("%v: make room, or choose a file elsewhere", e.err)
}
func (e *fullError) Unwrap() error { return e.err }

// Aside returns an output without the wait, if this is an Output: for a program that ends by itself
// though a write does not return.
func Aside(output io.Writer) io.Writer {
	if o, ok := output.(*Output); ok {
		return aside{o}
	}
	return output
}

// aside is an Output without the wait.
type aside struct{ *Output }

// Write implements io.Writer.
func (a aside) Write(p []byte) (int, error) { return a.see(a.to.Write(p)) }

// Gone reports whether a write has found that the reader has gone. Blocks: never.
func (o *Output) Gone() bool { return o.gone.Load() }

// File returns the file behind the output; nil: there is none.
func (o *Output) File() *os.File { return File(o.to) }
