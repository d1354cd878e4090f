// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"os"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/manual"
	"tagbus/cmd/internal/pagefiles"
	"tagbus/cmd/internal/publish"
	"tagbus/cmd/internal/service"
	"tagbus/cmd/internal/subscribe"
	"tagbus/cmd/internal/units"
	"tagbus/internal/stuck"
)

// Publisher is the main function of the command publisher: it reads the arguments, the
// environment and the streams of the process, takes its signals, and returns the exit
// status.
//
// Threads: that of main, once; so for the other functions.
func Publisher() int {
	return stuck.Main(func() int { return publish.Main(os.Args[1:], streams()) })
}

// Subscriber is the main function of the command subscriber.
func Subscriber() int {
	return stuck.Main(func() int { return subscribe.Main(os.Args[1:], streams()) })
}

// What a program of another module has its commands of.
type (
	// ServiceCommand is one command: a pointer to a struct of flags, as kong takes it.
	ServiceCommand = service.Command
	// ServiceEnv is what a ServiceCommand runs with.
	ServiceEnv = service.Env
	// Bytes is a flag with a size, such as 64MiB.
	Bytes = units.Bytes
)

// Service is the main function of a program of another module that works on a bus. It has the flags of all
// commands, reads its configuration as they do, and takes signals as they do.
//
//   - commands: a pointer to a struct whose fields with the tag cmd are ServiceCommands.
func Service(name, description string, commands any) int {
	return stuck.Main(func() int {
		return service.Main(cli.Program{Name: name, Description: description}, commands, os.Args[1:], streams())
	})
}

// ServicePages writes what a release ships for the program of a Service: DIR/man/NAME.1, and DIR/completion/SHELL/FILE.
//
//   - version, date: those of the release, at the foot of the man page; year-month-day.
func ServicePages(dir, version, date, name, description string, commands any) error {
	app, err := service.Model(cli.Program{Name: name, Description: description}, commands)
	if err != nil {
		return err
	}
	return pagefiles.Write(dir, app, manual.Release{Version: version, Date: date}, "publisher", "subscriber", "tagbus")
}
