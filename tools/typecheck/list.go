// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// listedPackage is what go list says of a package, and of its variant with tests.
type listedPackage struct {
	ImportPath string // with " [path.test]" behind it for a variant
	Dir        string
	GoFiles    []string
	Imports    []string
	ImportMap  map[string]string
	Standard   bool
	Module     *struct {
		Main      bool
		GoVersion string
	}
	Error *struct{ Err string }
}

// ours reports whether the package belongs to the module that is checked.
func (p *listedPackage) ours() bool { return p.Module != nil && p.Module.Main }

// goVersion returns the version of the language of the package.
func (p *listedPackage) goVersion() string {
	if p.Module == nil || p.Module.GoVersion == "" {
		return ""
	}
	return "go" + p.Module.GoVersion
}

// imported returns the name of the package that path means in p.
func (p *listedPackage) imported(path string) string {
	if name, ok := p.ImportMap[path]; ok {
		return name
	}
	return path
}

// listing is packages, each behind those that it needs, and what they are for.
type listing struct {
	system, arch string
	packages     []*listedPackage
}

// list asks go list for packages, their tests, and all that they need.
func list(patterns []string) (*listing, error) {
	var l listing
	target, err := output("env", "GOOS", "GOARCH")
	if err != nil {
		return nil, err
	}
	if n, err := fmt.Sscan(target, &l.system, &l.arch); n != 2 {
		return nil, fmt.Errorf("go env: %w", err)
	}
	text, err := output(append([]string{"list", "-e", "-deps", "-test", "-json=ImportPath,Dir,GoFiles,Imports,ImportMap,Standard,Module,Error"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	for decoder := json.NewDecoder(strings.NewReader(text)); ; {
		p := new(listedPackage)
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			return &l, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if strings.HasSuffix(p.ImportPath, ".test") || len(p.GoFiles) == 0 && p.ImportPath != "unsafe" {
			continue // a main of tests, which the go command writes, or nothing for this system
		}
		if p.Error != nil {
			return nil, fmt.Errorf("%s: %s", p.ImportPath, p.Error.Err)
		}
		l.packages = append(l.packages, p)
	}
}

// output returns what the go command prints.
func output(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", args[0], err)
	}
	return string(out), nil
}
