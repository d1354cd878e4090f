// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"strings"

	"github.com/alecthomas/kong"
)

// Options reads flags that are given as text within a program: as a command line is read, without
// help, environment and files.
//
//   - flags: a pointer to a struct as kong takes it.
//   - Errors: their text is in the words of the command line, and names the flag.
func Options(flags any, args []string) error {
	parser, err := kong.New(flags, kong.NoDefaultHelp(), kong.Name("tagbus"), kong.Exit(func(int) {}), durations)
	if err != nil {
		return err
	}
	if _, err = parser.Parse(args); err == nil {
		return nil
	}
	return errors.New(strings.TrimSpace(houseWords(Text(err))))
}
