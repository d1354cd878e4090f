// SPDX-License-Identifier: Apache-2.0

package acl

import (
	"errors"
	"fmt"
	"time"

	"tagbus/internal/filewatch"
)

// Config says where a Store finds its policy.
type Config struct {
	// File is that of the policy.
	File string

	// Every is the time between two looks at the file. 0: 10 s.
	Every time.Duration

	// Changed, if not nil, is called when another policy is in use. Calls come one after the
	// other; they must not call Reload or Close.
	Changed func(*Policy)

	// Failed, if not nil, is called when the file cannot be used, once for each mistake in turn:
	// the policy that was read before stays. Calls are as those of Changed.
	Failed func(error)
}

// ErrInvalidConfig is the error of a Config without a file. Name one.
var ErrInvalidConfig = errors.New("acl: File must name a file, and Every not be negative")

// Store has the policy of a file.
//
// Threads: all methods may be called by any goroutine.
type Store struct{ keeper *filewatch.Keeper[*Policy] }

// Open reads the file, and looks at it again and again until Close.
//
//   - Errors: ErrInvalidConfig; *PolicyError; those of reading, wrapped with what to do.
func Open(c Config) (*Store, error) {
	if c.File == "" || c.Every < 0 {
		return nil, ErrInvalidConfig
	}
	if c.Every == 0 {
		c.Every = 10 * time.Second
	}
	keeper, err := filewatch.Open(filewatch.Config[*Policy]{
		Paths: []string{c.File}, MaxBytes: MaxBytes, Every: c.Every, Loaded: c.Changed,
		Make: func(files []filewatch.File) (*Policy, error) { return Parse(c.File, files[0].Data) },
		Failed: func(err error) {
			if c.Failed != nil {
				c.Failed(readError(c.File, err))
			}
		},
	})
	if err != nil {
		return nil, readError(c.File, err)
	}
	return &Store{keeper}, nil
}

// Policy returns the policy in use. Ask it again for each decision.
//
//   - Blocks: never. Allocates: no.
func (s *Store) Policy() *Policy { return s.keeper.Current() }

// Failing reports whether the file could not be used at the last look, or its file system does
// not answer, so that an earlier policy is in use.
//
//   - Blocks: never. Allocates: no.
func (s *Store) Failing() bool { return s.keeper.Failing() }

// Reload looks at the file now, as on SIGHUP.
//
//   - Errors: *PolicyError; those of reading, wrapped with what to do. The policy that was read
//     before stays in use.
func (s *Store) Reload() error {
	if err := s.keeper.Reload(); err != nil {
		return readError(s.keeper.Paths()[0], err)
	}
	return nil
}

// Close ends the looks at the file. What was read stays in use.
func (s *Store) Close() { s.keeper.Close() }

// ReadFile reads a policy from a file, once.
//
//   - Errors: *PolicyError; those of reading, wrapped with what to do.
func ReadFile(file string) (*Policy, error) {
	f, err := filewatch.Read(file, MaxBytes)
	if err != nil {
		return nil, readError(file, err)
	}
	return Parse(file, f.Data)
}

// readError returns an error of a file that could not be read, with what to do.
func readError(file string, err error) error {
	if size := (*filewatch.SizeError)(nil); errors.As(err, &size) {
		return &PolicyError{File: file, Line: 1, Err: fmt.Errorf("%w: more than %d bytes", ErrTooLarge, size.Limit)}
	}
	if policy := (*PolicyError)(nil); errors.As(err, &policy) {
		return err
	}
	return fmt.Errorf("policy: %w: name the right file, readable for this process", err)
}
