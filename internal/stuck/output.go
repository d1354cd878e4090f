// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"os"
	"sync/atomic"
)

// Output is what a program writes to that was opened for it: its standard output. A file that does not
// answer is waited for by On. So is a pipe, or a terminal, that takes nothing, of which nothing is said
// before a signal comes: a pager may show its first page for hours.
//
// Threads: any, for all methods.
type Output struct {
	name string // for people; "": it is not waited for
	pipe bool
	idle atomic.Pointer[wait] // that an earlier call has left
}

// NewOutput returns an output.
//
//   - file: nil: it is not waited for.
//   - name: for people.
func NewOutput(file *os.File, name string) *Output {
	if file == nil {
		return new(Output)
	}
	defer On(name)()
	info, err := file.Stat()
	return &Output{name: name, pipe: err == nil && !info.Mode().IsRegular()}
}

// Write returns what write does, which writes to the output.
func (o *Output) Write(write func() (int, error)) (int, error) {
	if o.name == "" {
		return write()
	}
	w := o.idle.Swap(nil)
	if w == nil {
		w = &wait{path: o.name, quiet: o.pipe}
	}
	process.enter(w)
	defer func() {
		if process.over(w) {
			o.idle.Store(w)
		}
	}()
	return write()
}
