// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"runtime/debug"

	"tagbus/internal/build"
)

// version returns what --version says of the build after the name of the program.
func version() string {
	return describe(build.Release(), build.Info())
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
