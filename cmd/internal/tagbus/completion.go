// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tagbus

import (
	"context"
	"slices"

	"github.com/alecthomas/kong"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/completion"
	"tagbus/cmd/internal/publish"
	"tagbus/cmd/internal/subscribe"
	"tagbus/cmd/internal/tool"
)

// programs are the commands with a command line of their own.
var programs = map[string]func(name string, args []string, s cli.Streams) int{
	"publish":   publish.MainAs,
	"subscribe": subscribe.MainAs,
}

// shellCompletion is the command completion.
type shellCompletion struct {
	tool.NoBus
	Shell   string `arg:"" enum:"bash,zsh,fish" help:"The shell: bash, zsh or fish."`
	Program string `default:"tagbus" enum:"tagbus,publisher,subscriber" placeholder:"NAME" help:"Program to complete: tagbus, publisher or subscriber. Default ${default}."`
}

// Run writes the script.
func (c *shellCompletion) Run(_ context.Context, e *tool.Env) error {
	models := map[string]func() (*kong.Application, error){"tagbus": Model, "publisher": publish.Model, "subscriber": subscribe.Model}
	model, err := models[c.Program]()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(completion.Shells, func(s completion.Shell) bool { return s.Name == c.Shell })
	return completion.Shells[i].Write(e.Out, model)
}

// Model returns the commands with their flags. Those of publish and subscribe are those of
// the programs.
func Model() (*kong.Application, error) {
	app, err := cli.Model(about, new(Commands))
	if err != nil {
		return nil, err
	}
	for _, of := range []struct {
		command string
		model   func() (*kong.Application, error)
	}{{"publish", publish.Model}, {"subscribe", subscribe.Model}} {
		program, err := of.model()
		if err != nil {
			return nil, err
		}
		for _, node := range app.Children {
			if node.Name == of.command {
				node.Flags = program.Flags
			}
		}
	}
	return app, nil
}
