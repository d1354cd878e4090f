// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"fmt"
)

const (
	// maxConfigSettings is more than all commands have flags, and maxConfigDepth more than a
	// list in a table of a command takes.
	maxConfigSettings = 1000
	maxConfigDepth    = 16

	// maxConfigErrors is how many mistakes are told: each is looked for in the whole file.
	maxConfigErrors = 20
)

// bounded reports why a file is no file with values of flags: a parser of TOML takes time in
// proportion to the square of how deep, or of how many, its values are. It is right about
// files that anyone writes, and knows neither texts nor comments.
//
//   - Errors: with the line.
func (f *configFile) bounded(text []byte) error {
	settings, depth, n := 0, 0, 0
	for line := range bytes.Lines(text) {
		n++
		key, value, isSetting := bytes.Cut(bytes.TrimSpace(line), []byte("="))
		isTable := !isSetting && bytes.HasPrefix(key, []byte("["))
		if isSetting || isTable {
			if dots := bytes.Count(key, []byte(".")); dots > maxConfigDepth {
				return fmt.Errorf("%s: a name of %d parts: want one flag, or a command and one", f.at(n), dots+1)
			}
		}
		settings += bytes.Count(value, []byte("="))
		if isSetting || isTable {
			settings++
		}
		if settings > maxConfigSettings {
			return fmt.Errorf("%s: more than %d settings: want a file with values of flags", f.at(n), maxConfigSettings)
		}
		for _, c := range line {
			switch c {
			case '[', '{':
				depth++
			case ']', '}':
				depth = max(depth-1, 0)
			}
			if depth > maxConfigDepth {
				return fmt.Errorf("%s: lists in lists: want a text, a number, true or false, or a list of these", f.at(n))
			}
		}
	}
	return nil
}
