// SPDX-License-Identifier: Apache-2.0

// Command pages writes what is made from the flags of the commands: their man pages and
// the scripts by which shells complete them. A release ships both.
//
//	go run ./cmd/internal/pages DIR VERSION DATE
//
// It writes DIR/man/COMMAND.1 and DIR/completion/SHELL/FILE. VERSION and DATE
// (year-month-day) stand at the foot of the man pages.
package main

import (
	"fmt"
	"os"

	"github.com/alecthomas/kong"

	"tagbus/cmd/internal/manual"
	"tagbus/cmd/internal/pagefiles"
	"tagbus/cmd/internal/publish"
	"tagbus/cmd/internal/subscribe"
	"tagbus/cmd/internal/tagbus"
)

// commands are those that a release ships.
var commands = []struct {
	name  string
	model func() (*kong.Application, error)
}{
	{"publisher", publish.Model},
	{"subscriber", subscribe.Model},
	{"tagbus", tagbus.Model},
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "pages: usage: pages DIR VERSION DATE")
		os.Exit(2)
	}
	if err := write(os.Args[1], manual.Release{Version: os.Args[2], Date: os.Args[3]}); err != nil {
		fmt.Fprintf(os.Stderr, "pages: %v\n", err)
		os.Exit(1)
	}
}

// write writes all files of all commands below dir.
func write(dir string, r manual.Release) error {
	for _, c := range commands {
		app, err := c.model()
		if err != nil {
			return fmt.Errorf("the flags of %s: %w", c.name, err)
		}
		var others []string
		for _, other := range commands {
			if other.name != c.name {
				others = append(others, other.name)
			}
		}
		if err := pagefiles.Write(dir, app, r, others...); err != nil {
			return err
		}
	}
	return nil
}
