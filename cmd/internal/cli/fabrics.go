// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cli

import (
	"fmt"

	"github.com/alecthomas/kong"

	"tagbus/node"
)

// fabricsFlag is a flag that lists what --backend can be on this host, and ends
// the command, as --version does.
//
// It is a flag of both commands, and no command of its own, because the answer
// depends on the program. It depends on the build with or without libfabric, and on
// what the program may lock and open on this host, as this user.
type fabricsFlag bool

// BeforeReset implements a hook of kong, which calls it before it looks for
// missing flags.
func (fabricsFlag) BeforeReset(app *kong.Kong) error {
	survey, err := node.Fabrics()
	fmt.Fprint(app.Stdout, survey.Text())
	if err != nil {
		fmt.Fprintf(app.Stderr, "%s: %s\n", app.Model.Name, Text(err))
		app.Exit(ExitFailed)
		return nil
	}
	app.Exit(ExitDone)
	return nil
}
