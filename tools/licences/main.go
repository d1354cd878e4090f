// SPDX-License-Identifier: Apache-2.0

// Command licences writes the licences of all modules that programs link, with their
// notices, for the packages in which the programs go out.
//
//	go -C tools run ./licences MODULE PACKAGE...
//
// MODULE is the folder of a module, seen from tools, and the packages are its programs. A
// module without a licence, or with one that is not known to allow it, is an error.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "licences: usage: licences MODULE PACKAGE...")
		os.Exit(2)
	}
	modules, err := linked(os.Args[1], os.Args[2:]...)
	if err == nil {
		out := bufio.NewWriter(os.Stdout)
		err = errors.Join(write(out, modules), out.Flush())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "licences: %v\n", err)
		os.Exit(1)
	}
}

// module is one that is linked.
type module struct{ path, version, dir string }

// linked returns the modules that programs link besides those of tagbus, and Go, in order.
func linked(dir string, packages ...string) (modules []module, err error) {
	list := func(args ...string) (string, error) {
		command := exec.Command("go", args...)
		command.Dir = dir
		command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
		var wrong strings.Builder
		command.Stderr = &wrong
		out, err := command.Output()
		if err != nil {
			return "", fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, wrong.String())
		}
		return strings.TrimSpace(string(out)), nil
	}
	const form = "{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}"
	out, err := list(append([]string{"list", "-deps", "-f", form}, packages...)...)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) == 3 && fields[0] != "tagbus" && !strings.HasPrefix(fields[0], "tagbus/") {
			modules = append(modules, module{fields[0], fields[1], fields[2]})
		}
	}
	root, err := list("env", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	where, version, _ := strings.Cut(root, "\n")
	modules = append(modules, module{"Go", version, where})
	slices.SortFunc(modules, func(a, b module) int { return strings.Compare(a.path, b.path) })
	return slices.Compact(modules), nil
}

// write writes each licence once, below the modules that have it, and then the notices.
//
// Errors: of modules whose licence is missing or unknown, joined.
func write(out io.Writer, modules []module) error {
	var errs []error
	var texts []string
	of := make(map[string][]string) // by text: the modules
	add := func(m module, text string) {
		if of[text] == nil {
			texts = append(texts, text)
		}
		of[text] = append(of[text], m.path+" "+m.version)
	}
	for _, m := range modules {
		licences, notices, err := read(m.dir)
		if err == nil {
			err = allowed(licences)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", m.path, m.version, err))
			continue
		}
		for _, text := range append(licences, notices...) {
			add(m, text)
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	fmt.Fprintln(out, "The programs contain the modules below, each under the licence that follows it.")
	for _, text := range texts {
		fmt.Fprintf(out, "\n%s\n\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(of[text], "\n"), text)
	}
	return nil
}

// read returns the texts of the files of a folder that are licences, and that are notices.
func read(dir string) (licences, notices []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		licence := strings.HasPrefix(name, "LICENSE") || strings.HasPrefix(name, "LICENCE") || strings.HasPrefix(name, "COPYING")
		if e.IsDir() || !licence && !strings.HasPrefix(name, "NOTICE") || strings.HasSuffix(name, ".GO") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, nil, err
		}
		trimmed := strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n"))
		if licence {
			licences = append(licences, trimmed)
		} else {
			notices = append(notices, trimmed)
		}
	}
	return licences, notices, nil
}

// kinds are the licences that allow to link a module into a program under Apache-2.0, by a
// part of their text.
var kinds = []string{
	"Apache License\n                           Version 2.0, January 2004",
	"Redistribution and use in source and binary forms", // BSD
	"Permission is hereby granted, free of charge",      // MIT
	"Permission to use, copy, modify, and",              // ISC
}

// allowed returns what is wrong with the licences of a module.
func allowed(licences []string) error {
	if len(licences) == 0 {
		return errors.New("has no licence")
	}
	for _, text := range licences {
		plain := strings.Join(strings.Fields(text), " ")
		if !slices.ContainsFunc(kinds, func(kind string) bool { return strings.Contains(plain, strings.Join(strings.Fields(kind), " ")) }) {
			return fmt.Errorf("has a licence that is not known: %.60q", plain)
		}
	}
	return nil
}
