// SPDX-License-Identifier: Apache-2.0

package cli

import "testing"

// TestAWholeNumberIsAskedForInWords: bits mean nothing to a person at a terminal.
func TestAWholeNumberIsAskedForInWords(t *testing.T) {
	for text, want := range map[string]string{
		`--head: expected a valid 64 bit int but got "abc"`:                  `--head: got "abc", want a whole number, for example 10`,
		`--head: expected a valid 64 bit int but got ""`:                     `--head: got "", want a whole number, for example 10`,
		`c.toml:1: cache: expected a valid 32 bit uint but got "1.5"`:        `c.toml:1: cache: got "1.5", want a whole number, for example 10`,
		`--head: expected a valid 64 bit int but got "99999999999999999999"`: `--head: got "99999999999999999999", which is too large`,
	} {
		if got := whole.ReplaceAllStringFunc(text, wantWhole); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
