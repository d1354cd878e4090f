// SPDX-License-Identifier: Apache-2.0

// Package validate fills in the defaults of configurations and collects what is
// wrong with them, so that all packages report it in one form:
//
//	netio: invalid configuration: MaxEndpoints is -1, want 1 to 1048576
package validate

import (
	"errors"
	"fmt"
	"time"
)

// Default sets *field to value if it is zero.
func Default[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Violations collects what is wrong with a configuration. Set Kind before use.
type Violations struct {
	Kind error // that each violation wraps, except those of Join

	errs []error
}

// Add adds a violation: the field, its value and its limit.
func (v *Violations) Add(format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf("%w: %w", v.Kind, fmt.Errorf(format, args...)))
}

// Field adds err as a violation that concerns field, unless err is nil.
func (v *Violations) Field(field string, err error) {
	if err != nil {
		v.Add("%s: %w", field, err)
	}
}

// Join adds err as it is, unless it is nil: the violations of an embedded
// configuration.
func (v *Violations) Join(err error) {
	if err != nil {
		v.errs = append(v.errs, err)
	}
}

// Err returns all violations, joined, or nil if there is none.
func (v *Violations) Err() error { return errors.Join(v.errs...) }

// Within adds a violation if got is not in lo to hi.
func Within[T int | int64 | time.Duration](v *Violations, field string, got, lo, hi T) {
	if got < lo || got > hi {
		v.Add("%s is %v, want %v to %v", field, got, lo, hi)
	}
}

// MaxDuration is the longest time of a configuration: ten years. It is longer than anything
// lasts, and so far from the largest Duration that it can be added to a time, and doubled.
const MaxDuration = 10 * 365 * 24 * time.Hour

// Positive adds a violation if got is negative, as zero has become the default, or longer
// than MaxDuration.
func (v *Violations) Positive(field string, got time.Duration) {
	if got < 0 || got > MaxDuration {
		v.Add("%s is %v, want a positive duration of at most %v", field, got, MaxDuration)
	}
}
