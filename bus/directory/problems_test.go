// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"errors"
	"fmt"
	"testing"

	"tagbus/bus/directory"
)

// Of the problems of a directory those matter that hide entries.
func TestIncomplete(t *testing.T) {
	away, harmless, several := errors.New("away"), fmt.Errorf("%w: a stray file", directory.ErrHarmless), fmt.Errorf("of %w and %w", errors.New("one"), errors.New("two"))
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"no problem", nil, ""},
		{"one that hides nothing", harmless, ""},
		{"two that hide nothing", errors.Join(harmless, harmless), ""},
		{"one that hides something", away, "away"},
		{"each kind, joined twice", errors.Join(harmless, errors.Join(away, harmless)), "away"},
		{"one that wraps several", several, "of one and two"},
	} {
		got := ""
		if err := directory.Incomplete(test.err); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	for problem := range directory.Problems(errors.Join(away, harmless)) {
		if !errors.Is(problem, away) {
			t.Errorf("got %v first, want %v", problem, away)
		}
		break
	}
}
