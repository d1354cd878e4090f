// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"tagbus/bus/directory"
	"tagbus/cmd/internal/options"
	"tagbus/internal/sanitize"
	"tagbus/internal/stuck"
)

// kinds are the kinds of directories of programs beside this one, by scheme: publisher-etcd
// is publisher with the kind etcd, and the package tagbus-etcd has it.
var kinds = map[string]string{"etcd": "etcd", "etcds": "etcd"}

// starter is what it takes of the system to run another program in place of this one.
type starter struct {
	executable func() (path string, err error)
	args       []string // of this process
	exec       func(path string, args, env []string) error
}

var bySystem = starter{os.Executable, os.Args, syscall.Exec}

// handOver runs the program that has what this one lacks in place of it, with the same
// arguments and environment. It looks for it only beside the file of this one: what a PATH
// leads to may be of another release, or of another user.
//
// A program whose own file has the name of a kind does not hand over, and none hands over
// to a file of another name, so that there is no circle.
//
//   - Errors: lacks, wrapped, with what to do; it does not return otherwise.
func (s starter) handOver(p Program, lacks *directory.UnknownSchemeError) error {
	kind, known := kinds[lacks.Scheme]
	if !known {
		return options.NameBus(lacks)
	}
	family, _, _ := strings.Cut(p.Name, " ") // without a command
	other := family + "-" + kind
	return &lacksKindError{lacks, other, s.beside(other, "-"+kind, s.args[min(1, len(s.args)):])}
}

// beside runs a program that lies in the folder of this one in place of it. It returns why that cannot be.
//
//   - own: how the names of programs end that do not hand over to it.
//   - args: behind its name.
func (s starter) beside(other, own string, args []string) (why string) {
	self, err := s.executable()
	if err != nil {
		return "the folder of this program is not known: " + err.Error()
	}
	path := filepath.Join(filepath.Dir(self), other)
	if strings.HasSuffix(filepath.Base(self), own) {
		return sanitize.Text(self) + " is another program of that name"
	}
	switch file, err := stuck.EvalSymlinks(path); {
	case errors.Is(err, fs.ErrNotExist):
		return "which is not beside " + sanitize.Text(self)
	case err == nil && filepath.Base(file) != other:
		return sanitize.Text(path) + " is a link to a file of another name"
	}
	err = s.exec(path, append([]string{path}, args...), os.Environ())
	return sanitize.Linef("%s cannot be started: %v", sanitize.Text(path), err)
}

// bridge is the program that reads durable logs, and its package.
const bridge = "tagbus-bridge"

// RunBridge runs tagbus-bridge, which lies beside this program, in place of it.
//
//   - args: behind its name.
//   - Errors: why it does not run, with what to do; RunBridge does not return otherwise.
func RunBridge(args []string) error { return bySystem.runBridge(args) }

func (s starter) runBridge(args []string) error {
	return fmt.Errorf("%s reads durable logs, %s: install the package %[1]s", bridge, s.beside(bridge, bridge, args))
}

// lacksKindError says which program has the kind of directory that this one lacks, and why
// that one does not run instead.
type lacksKindError struct {
	lacks *directory.UnknownSchemeError
	other string // the program
	why   string
}

// Error names the flag, the program and its package.
func (e *lacksKindError) Error() string {
	return fmt.Sprintf("--bus: this program has no directory of the kind %s://: %s has it, %s: install the package tagbus-%s",
		e.lacks.Scheme, e.other, e.why, kinds[e.lacks.Scheme])
}

// Unwrap returns the cause.
func (e *lacksKindError) Unwrap() error { return e.lacks }
