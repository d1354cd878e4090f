// SPDX-License-Identifier: Apache-2.0

// Package fileflags finds the flags of a command line that name files.
package fileflags

import (
	"net/url"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"

	"tagbus/internal/stuck"
)

// Name makes what is said of a file whose file system does not answer name the flag that named
// the file. Flags name files if their placeholder says so, or if their values are URLs of directories
// with files.
func Name(read *kong.Context) {
	for _, step := range read.Path {
		if step.Positional == nil {
			continue
		}
		for _, value := range texts(step.Positional.Target) {
			stuck.Named(value, "") // else it would have the flag of the folder in which it is
		}
	}
	for _, flag := range read.Flags() {
		if !namesFiles(flag.PlaceHolder) {
			continue
		}
		for _, value := range texts(flag.Target) {
			stuck.Named(value, "--"+flag.Name)
			if u, err := url.Parse(value); err == nil && u.Scheme != "" {
				for _, key := range []string{"ca", "cert", "key", "password-file"} {
					stuck.Named(u.Query().Get(key), key+" of --"+flag.Name)
				}
			}
		}
	}
}

// namesFiles reports whether a flag with a placeholder names a file, or a folder.
func namesFiles(placeholder string) bool {
	for _, word := range []string{"FILE", "DIR", "PATH"} {
		if strings.Contains(placeholder, word) {
			return true
		}
	}
	return false
}

// texts returns the values of a flag that is a text, or several.
func texts(value reflect.Value) (all []string) {
	switch {
	case value.Kind() == reflect.String:
		return []string{value.String()}
	case value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.String:
		for i := range value.Len() {
			all = append(all, value.Index(i).String())
		}
	}
	return all
}
