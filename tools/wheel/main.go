// SPDX-License-Identifier: Apache-2.0

// Command wheel makes the wheel of the Python package, with the C library inside, and tells which
// glibc that needs. It has no dependencies, and the same input gives the same bytes.
//
//	go -C tools run ./wheel glibc LIBRARY...
//	go -C tools run ./wheel metadata VERSION PACKAGE
//	go -C tools run ./wheel make VERSION ARCH PACKAGE LIB OUT TEXT...
//
// VERSION is that of a release, PACKAGE the folder of pyproject.toml, LIB that of the libraries, OUT that of
// the wheel, and a TEXT a licence. SOURCE_DATE_EPOCH is the time of all files.
//
// The tools of Python, setuptools and auditwheel, would do the same with Python, a network and
// patchelf: a release takes Go. auditwheel renames the libraries that it copies into a wheel, and here there
// are none: all that is needed is glibc, which is checked.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

func main() {
	out, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "wheel: %v\n", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, out)
}

func run(args []string) (out string, err error) {
	switch {
	case len(args) >= 2 && args[0] == "glibc":
		newest, err := glibc(args[1:]...)
		return newest.String(), err
	case len(args) == 3 && args[0] == "metadata":
		p, err := readProject(args[2])
		if err != nil {
			return "", err
		}
		return p.metadata(pythonVersion(args[1]), nil), nil
	case len(args) >= 6 && args[0] == "make":
		epoch, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
		if err != nil {
			return "", fmt.Errorf("SOURCE_DATE_EPOCH: %w: set it to the seconds of the time of all files", err)
		}
		w := wheel{
			version: pythonVersion(args[1]), arch: args[2], source: args[3], lib: args[4], texts: args[6:],
			time: time.Unix(epoch, 0).UTC(),
		}
		name, content, err := w.make()
		if err != nil {
			return "", err
		}
		name = filepath.Join(args[5], name)
		return name, os.WriteFile(name, content, 0o644)
	}
	return "", fmt.Errorf("got %q: want glibc LIBRARY..., metadata VERSION PACKAGE, or make VERSION ARCH PACKAGE LIB OUT TEXT", args)
}
