// SPDX-License-Identifier: Apache-2.0

package options

import (
	"regexp"
	"strings"
)

// kongSays is what kong says of a value, which is in words of its own, and what is said in its
// place. The name of the flag is in front of both.
var kongSays = []struct {
	says *regexp.Regexp
	ours string
}{
	{regexp.MustCompile(`expected \w+ value but got "(-[0-9.]+\w*)" \(short flag\).*`), `got "$1", which is negative`}, // it takes it for a flag
	{regexp.MustCompile(`expected \w+ value but got "EOL" \(<EOL>\)`), `got no value: give one behind it`},
	{regexp.MustCompile(`expected \w+ value but got "([^"]*)" \((?:long|short) flag\).*`), `got no value, as $1 is another flag: give one in front of it`},
	{regexp.MustCompile(`bool value must be true, 1, yes, false, 0 or no but got ("(?:[^"\\]|\\.)*")`), `got $1, want true or false`},
}

// HouseWords returns what kong says in the words of the commands.
func HouseWords(text string) string {
	for _, k := range kongSays {
		text = k.says.ReplaceAllString(text, k.ours)
	}
	return whole.ReplaceAllStringFunc(text, wantWhole)
}

// whole is what kong says of what is no integer.
var whole = regexp.MustCompile(`expected a valid \d+ bit u?int but got ("(?:[^"\\]|\\.)*")`)

// wantWhole says what is wanted of an integer, which bits have no meaning for.
func wantWhole(text string) string {
	got := whole.FindStringSubmatch(text)[1]
	if digits := strings.Trim(got, `"`); digits != "" && strings.Trim(digits, "+-0123456789") == "" {
		return "got " + got + ", which is too large"
	}
	return "got " + got + ", want a whole number, for example 10"
}
