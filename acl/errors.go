// SPDX-License-Identifier: Apache-2.0

package acl

import (
	"errors"
	"fmt"
	"strings"

	"tagbus/internal/sanitize"
)

// Bounds of a policy. A file beyond them is refused as a whole.
const (
	MaxBytes        = 16 << 20 // of a file
	MaxRules        = 10_000
	MaxParts        = 1 << 20 // ranges and tag patterns of all rules together
	MaxPatternBytes = 1024    // of who
	MaxStars        = 8       // * and ** of who together
)

// Errors of policies. They are inside a *PolicyError.
var (
	// ErrSyntax is the error of a file that is not JSON, or not of the form of a policy.
	ErrSyntax = errors.New("not a policy")

	// ErrUnknownField is the error of a field that policies do not have. Correct its name.
	ErrUnknownField = errors.New("unknown field")

	// ErrDuplicateField is the error of a field that is there twice. Put both into one.
	ErrDuplicateField = errors.New("field given twice")

	// ErrMissingField is the error of a rule that is for no peer or allows nothing. Complete it,
	// or remove it.
	ErrMissingField = errors.New("something is missing")

	// ErrWho is the error of a pattern that is for no peer.
	ErrWho = errors.New("not a pattern of peers")

	// ErrTooLarge is the error of a policy beyond the bounds.
	ErrTooLarge = errors.New("policy too large")

	// ErrUnknownAction is the error of a text that names no action.
	ErrUnknownAction = errors.New("unknown action")
)

// PolicyError reports a policy that cannot be used. Nothing of it takes effect.
type PolicyError struct {
	File  string // empty if the policy is from no file
	Line  int    // in which it was found, from 1
	Rule  int    // number of the rule, from 1; 0 outside of all
	Field string // of the rule or of the policy; may be empty
	Value string // of the field; may be empty
	Err   error  // one of the errors above, wrapped with what to do, or a *tags.ParseError
}

// Error says where the mistake is, and what is wrong.
func (e *PolicyError) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(sanitize.Text(e.File) + ":")
	} else {
		b.WriteString("policy, line ")
	}
	fmt.Fprintf(&b, "%d: ", e.Line)
	if e.Rule > 0 {
		fmt.Fprintf(&b, "rule %d: ", e.Rule)
	}
	if e.Field != "" {
		b.WriteString(sanitize.Text(sanitize.Cut(e.Field, 40)) + ": ")
	}
	if e.Value != "" {
		b.WriteString(sanitize.Text(sanitize.Cut(e.Value, 80)) + ": ")
	}
	b.WriteString(sanitize.Error(e.Err))
	return b.String()
}

// Unwrap returns Err.
func (e *PolicyError) Unwrap() error { return e.Err }
