// SPDX-License-Identifier: Apache-2.0

// Package pagefiles writes the files that a release ships for a command: its man page, and the scripts by which
// shells complete it.
package pagefiles

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/alecthomas/kong"

	"tagbus/cmd/internal/completion"
	"tagbus/cmd/internal/manual"
)

// Write writes DIR/man/COMMAND.1 and DIR/completion/SHELL/FILE.
//
//   - seeAlso: as of manual.Write.
func Write(dir string, app *kong.Application, r manual.Release, seeAlso ...string) error {
	page := func(w io.Writer) error { return manual.Write(w, app, r, seeAlso...) }
	if err := create(filepath.Join(dir, "man", app.Name+".1"), page); err != nil {
		return err
	}
	for _, shell := range completion.Shells {
		file := filepath.Join(dir, "completion", shell.Name, shell.File(app.Name))
		if err := create(file, func(w io.Writer) error { return shell.Write(w, app) }); err != nil {
			return err
		}
	}
	return nil
}

// create writes a file, and the directories that lead to it.
func create(name string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
