// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"debug/elf"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// release is one of glibc.
type release struct{ major, minor int }

func (r release) String() string { return fmt.Sprintf("%d.%d", r.major, r.minor) }

func (r release) compare(other release) int {
	return cmp.Or(cmp.Compare(r.major, other.major), cmp.Compare(r.minor, other.minor))
}

// glibcFiles are the libraries that glibc consists of, and its loader.
var glibcFiles = regexp.MustCompile(`^(lib(c|dl|m|pthread|rt)\.so\.[0-9]+|ld-linux-[\w-]+\.so\.[0-9]+)$`)

// glibc returns the oldest glibc that has all that libraries need: the newest version of the symbols they
// import. A library that needs more than glibc is an error.
func glibc(names ...string) (newest release, err error) {
	for _, name := range names {
		file, err := elf.Open(name)
		if err != nil {
			return release{}, err
		}
		needed, err := file.ImportedLibraries()
		if err == nil {
			newest, err = newer(newest, file)
		}
		_ = file.Close() // it was only read
		if err != nil {
			return release{}, fmt.Errorf("%s: %w", name, err)
		}
		for _, library := range needed {
			if !glibcFiles.MatchString(library) {
				return release{}, fmt.Errorf("%s needs %s: a package has to depend on it, and a wheel to have it inside", name, library)
			}
		}
	}
	if newest == (release{}) {
		return release{}, fmt.Errorf("%s: they import no symbol of a version of glibc: are they built for musl?", strings.Join(names, ", "))
	}
	return newest, nil
}

// newer returns the newest release that a file needs, or another one if that is newer.
func newer(newest release, file *elf.File) (release, error) {
	symbols, err := file.ImportedSymbols()
	if err != nil {
		return release{}, err
	}
	for _, symbol := range symbols {
		version, ok := strings.CutPrefix(symbol.Version, "GLIBC_")
		if !ok {
			continue
		}
		parts := strings.Split(version, ".")
		if len(parts) < 2 {
			return release{}, fmt.Errorf("%s needs %s: want two numbers", symbol.Name, symbol.Version)
		}
		var r release
		if r.major, err = strconv.Atoi(parts[0]); err == nil {
			r.minor, err = strconv.Atoi(parts[1])
		}
		if err != nil {
			return release{}, fmt.Errorf("%s needs %s: %w", symbol.Name, symbol.Version, err)
		}
		if r.compare(newest) > 0 {
			newest = r
		}
	}
	return newest, nil
}
