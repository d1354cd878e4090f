// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"fmt"
	"io"
	"os"
	"time"
)

// LateError is returned by Within. Its file system does not answer, so look after that, or name
// another file.
type LateError struct {
	Note     Note
	Patience time.Duration
}

// Error names the file.
func (e *LateError) Error() string {
	return fmt.Sprintf("%s; given up after %v", e.Note.Text(), e.Patience)
}

// Result is what a function has returned.
type Result[T any] struct {
	Value T
	Err   error
}

// Go runs f, which may wait for a file for ever, on a goroutine of its own, and returns where its result comes: the caller
// waits for other things, too, and may leave it behind.
func Go[T any](f func() (T, error)) <-chan Result[T] {
	done := make(chan Result[T], 1)
	go func() {
		value, err := f()
		done <- Result[T]{value, err}
	}()
	return done
}

// Within returns what f does, which reads files, or a *LateError if that takes longer than a
// patience because a file does not come: f goes on then.
//
//   - drop: is called with what f returns after that without an error, on a goroutine of its own.
func Within[T any](patience time.Duration, f func() (T, error), drop func(T)) (T, error) {
	done := Go(f)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case r := <-done:
			return r.Value, r.Err
		case <-timer.C:
		}
		if n, waits := Waiting(); waits && time.Since(n.Since) >= patience/2 {
			go func() {
				if r := <-done; r.Err == nil {
					drop(r.Value)
				}
			}()
			var none T
			return none, &LateError{n, patience}
		}
		timer.Reset(patience) // it has other reasons, such as a busy machine
	}
}

// Await calls wait, which returns when a call for a file has returned, and returns itself after
// Patience at the latest. What waits goes on then.
//
//   - paths: of the files, if they are known. If one of them is late already it returns at once.
func Await(wait func(), paths ...string) {
	done := make(chan struct{})
	go func() {
		wait()
		close(done)
	}()
	patience := Patience
	for _, path := range paths {
		if IsLate(path) {
			patience = 0
		}
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// lastWords is how long what a program says last may take.
const lastWords = 500 * time.Millisecond

// Exit writes a line, and ends the process though the line is not taken.
func Exit(to io.Writer, line string, status int) {
	written := make(chan struct{})
	go func() {
		_, _ = io.WriteString(to, line+"\n")
		close(written)
	}()
	select {
	case <-written:
	case <-time.After(lastWords):
	}
	os.Exit(status)
}
