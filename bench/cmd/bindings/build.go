// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// programs are those that could be built.
type programs struct {
	commands    map[string][]string // program and its first arguments
	missing     map[string]string   // by program: what it needs, and the machine lacks
	environment []string
	server      []string // of NATS
}

// build builds the library and all programs.
func build(library, out string) (*programs, error) {
	library, out = absolute(library), absolute(out)
	p := &programs{commands: make(map[string][]string), missing: make(map[string]string)}
	p.environment = append(os.Environ(), "TAGBUS_LIB="+library, "PYTHONPATH="+absolute("../bindings/python"), "PYTHONDONTWRITEBYTECODE=1")
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	for name, source := range map[string]string{goProgram: "./cmd/tagbus", natsProgram: "./cmd/nats"} {
		target := filepath.Join(out, filepath.Base(source))
		p.commands[name] = []string{target}
		if err := do(p.environment, "go", "build", "-o", target, source); err != nil {
			return nil, err
		}
	}
	p.server = append(p.commands[natsProgram], "-role=server")
	if err := p.buildC(library, out); err != nil {
		return nil, err
	}
	p.findPython()
	return p, nil
}

// buildC builds what needs a C compiler.
func (p *programs) buildC(library, out string) error {
	if _, err := exec.LookPath("cc"); err != nil {
		for _, name := range []string{cProgram, python, zmqProgram, zmqPython} {
			p.missing[name] = "no C compiler (Debian: gcc libc6-dev)"
		}
		return nil //nolint:nilerr // the machine lacks something
	}
	if err := do(append(p.environment, "OUT="+library, "CC=cc"), "../scripts/lib.sh"); err != nil {
		return err
	}
	c := func(target, source string, more ...string) error {
		p.commands[target] = []string{filepath.Join(out, source+"-c")}
		args := []string{"-std=gnu11", "-O2", "-Wall", "-Wno-unused-function", "-I../bindings/c", "-o", p.commands[target][0], "c/" + source + ".c"}
		return do(p.environment, "cc", append(args, more...)...)
	}
	if err := c(cProgram, "tagbus", "-L"+library, "-ltagbus", "-Wl,-rpath,"+library, "-lpthread"); err != nil {
		return err
	}
	if err := c(zmqProgram, "zmq", "-lzmq"); err != nil {
		p.missing[zmqProgram] = "no libzmq (Debian: libzmq3-dev)"
	}
	return nil
}

// findPython looks for what the programs in Python need. Debian's Python has it, others may not.
func (p *programs) findPython() {
	const interpreter = "/usr/bin/python3"
	p.commands[python] = []string{interpreter, "python/tagbus_program.py"}
	p.commands[zmqPython] = []string{interpreter, "python/zmq_program.py"}
	if do(p.environment, interpreter, "-c", "import numpy, cffi") != nil {
		p.missing[python] = "no Python with numpy and cffi (Debian: python3-numpy python3-cffi)"
	}
	if do(p.environment, interpreter, "-c", "import zmq") != nil {
		p.missing[zmqPython] = "no pyzmq (Debian: python3-zmq)"
	}
	if p.missing[zmqProgram] != "" && p.missing[zmqPython] == "" {
		p.missing[zmqPython] = "no libzmq in C, its other end (Debian: libzmq3-dev)"
	}
}

// do runs a command. What it prints is in its error.
func do(environment []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env = environment
	out, err := cmd.CombinedOutput()
	if err != nil {
		return errors.Join(fmt.Errorf("%v: %w", cmd.Args, err), errors.New(string(out)))
	}
	return nil
}
