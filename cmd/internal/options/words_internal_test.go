// SPDX-License-Identifier: Apache-2.0

package options

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

// TestWhatIsWrongWithAValueIsSaidInHouseWords, and kong has others.
func TestWhatIsWrongWithAValueIsSaidInHouseWords(t *testing.T) {
	for text, want := range map[string]string{
		`--expiry: expected time value but got "-5s" (short flag); perhaps try --expiry="-5s"?`:      `--expiry: got "-5s", which is negative`,
		`--expiry: expected time value but got "EOL" (<EOL>)`:                                        `--expiry: got no value: give one behind it`,
		`--expiry: expected time value but got "--json" (long flag); perhaps try --expiry="--json"?`: `--expiry: got no value, as --json is another flag: give one in front of it`,
		`--window: expected time value but got "-x" (short flag); perhaps try --window="-x"?`:        `--window: got no value, as -x is another flag: give one in front of it`,
		`--json: bool value must be true, 1, yes, false, 0 or no but got "x"`:                        `--json: got "x", want true or false`,
		`--cache: expected a valid 32 bit uint but got "1.5"`:                                        `--cache: got "1.5", want a whole number, for example 10`,
	} {
		if got := HouseWords(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
