// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"errors"
	"fmt"

	"tagbus/internal/sanitize"
)

// Sentinels. Each is found with errors.Is inside the typed error that the function
// returns, which also says where the input is wrong.
var (
	// ErrSyntax is returned by Parse, ParseSet and the text and JSON decoders when
	// the input is not one of the documented forms. Correct the text.
	ErrSyntax = errors.New("tags: invalid syntax")

	// ErrOverflow is returned by Parse, ParseSet and the text and JSON decoders when
	// a number does not fit 64 bits. Correct the number.
	ErrOverflow = errors.New("tags: number above 64 bits")

	// ErrRangeOrder is returned by Range and ParseSet when the first tag of a range
	// is above the last. Swap them.
	ErrRangeOrder = errors.New("tags: range ends before it begins")

	// ErrTooComplex is returned by Set.Without and Set.Intersection when the result
	// would need more than 65,536 patterns, or more than MaxSteps steps. Use smaller
	// sets or fewer patterns, or filter with Contains.
	ErrTooComplex = errors.New("tags: sets have too many patterns that meet")
)

// FieldError reports a field value that its bits cannot hold.
//
// Returned by Fields.Tag (several joined), and inside a ParseError by Parse and ParseSet.
type FieldError struct {
	Field string // name as in the slash form: version, detector, connector, virtual, link, elink, direction, protocol, stream
	Value uint64 // the refused value
	Limit uint64 // largest value that the field holds
}

// Error names the field, the value and the limit.
func (e *FieldError) Error() string {
	return sanitize.Linef("tags: %s %d is above its limit %d", e.Field, e.Value, e.Limit)
}

// ParseError reports text that is not a tag or a set of tags.
//
// Err is ErrRangeOrder, a *FieldError, or an error that wraps ErrSyntax or
// ErrOverflow and says what is wrong.
type ParseError struct {
	Input  string // whole input; Error prints at most quotedBytes of it
	Offset int    // byte offset in Input of the part that is wrong
	Err    error  // what is wrong with that part
}

// quotedBytes bounds how much of a bad input an error message repeats.
const quotedBytes = 64

// Error quotes the input, shortened around the offset if it is long.
func (e *ParseError) Error() string {
	return sanitize.Linef("tags: parse %s at byte %d: %s", quoteAround(e.Input, e.Offset), e.Offset, reason(e.Err))
}

// Unwrap returns Err.
func (e *ParseError) Unwrap() error { return e.Err }

// quoteAround quotes s, or the part of it that begins at offset if s is long.
func quoteAround(s string, offset int) string {
	if len(s) <= quotedBytes {
		return fmt.Sprintf("%q", s)
	}
	if offset+quotedBytes < len(s) {
		s = s[offset : offset+quotedBytes]
		if offset == 0 {
			return fmt.Sprintf("%q…", s)
		}
		return fmt.Sprintf("…%q…", s)
	}
	return fmt.Sprintf("…%q", s[len(s)-quotedBytes:])
}

// reason prints err without the package prefix, which the message has already.
func reason(err error) string {
	const prefix = "tags: "
	s := sanitize.Error(err)
	if len(s) > len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):]
	}
	return s
}

// DecodeError reports bytes that are not the binary form of a Set. They come from
// another program: refuse its request.
type DecodeError struct {
	Offset int    // byte offset of the part that is wrong
	Reason string // what is wrong with it
}

// Error names the offset and the reason.
func (e *DecodeError) Error() string {
	return sanitize.Linef("tags: decode at byte %d: %s", e.Offset, e.Reason)
}
