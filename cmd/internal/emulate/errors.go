// SPDX-License-Identifier: Apache-2.0

package emulate

import "errors"

var (
	// ErrSizes is wrapped by the errors of Sizes.UnmarshalText: the text is
	// not a size or a range of sizes.
	ErrSizes = errors.New("not a size or range of sizes")

	// ErrCorrupt is wrapped by the errors of Verifier.Check for a message
	// whose bytes are not those that were made.
	ErrCorrupt = errors.New("corrupt message")

	// ErrDuplicate is wrapped by the errors of Verifier.Check for a message
	// whose counter does not come after that of the one before.
	ErrDuplicate = errors.New("message received before")

	// ErrMissing is wrapped by the errors of Verifier.Check for a message
	// before which others are missing that the bus has not reported.
	ErrMissing = errors.New("messages are missing and not reported")
)
