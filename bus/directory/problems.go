// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"errors"
	"iter"
)

// Problems yields the problems that List has joined, each by itself.
func Problems(err error) iter.Seq[error] {
	return func(yield func(error) bool) { each(err, yield) }
}

// each yields the parts of an error, and reports whether the last one went on.
func each(err error, yield func(error) bool) bool {
	if err == nil {
		return true
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || err.Error() != errors.Join(joined.Unwrap()...).Error() {
		return yield(err)
	}
	for _, part := range joined.Unwrap() {
		if !each(part, yield) {
			return false
		}
	}
	return true
}

// Incomplete returns those problems of List, joined, with which entries may be missing in its result; nil: it has all of
// them.
func Incomplete(err error) error {
	var missing []error
	for problem := range Problems(err) {
		if !errors.Is(problem, ErrHarmless) {
			missing = append(missing, problem)
		}
	}
	return errors.Join(missing...)
}
