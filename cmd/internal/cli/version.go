// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// release is the version that a release made from an archive has. Such a build has no
// history to take it from: go build -ldflags "-X tagbus/cmd/internal/cli.release=v0.1.0".
var release string

// version returns what --version says of the build after the name of the program.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return describe(release, info)
}

// programVersion returns the version alone, as bus/state has it, and that of Go.
func programVersion() (program, goVersion string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return cmp.Or(release, "(devel)"), runtime.Version()
	}
	return cmp.Or(release, info.Main.Version, "(devel)"), info.GoVersion
}

// describe returns the version of a build, and in parentheses the commit, if it is
// known, and the version of Go. The go command takes the version from the tag of the
// commit, and makes one from its time if it has none. A release that is set goes first.
func describe(release string, info *debug.BuildInfo) string {
	commit, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = " with changes"
		}
	}
	name := release
	if name == "" {
		name = info.Main.Version
	}
	if name == "" || name == "(devel)" {
		name = "of unknown version"
	}
	from := info.GoVersion
	if commit != "" {
		from = fmt.Sprintf("commit %s%s, %s", commit, changed, info.GoVersion)
	}
	return fmt.Sprintf("%s (%s)", name, from)
}
