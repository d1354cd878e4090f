// SPDX-License-Identifier: Apache-2.0

// Package build tells which version of tagbus is in a program.
package build

import (
	"cmp"
	"runtime/debug"
	"sync"
)

// module is the path of this module.
const module = "tagbus"

// release is the version that a release made from an archive has. Such a build has no
// history to take it from: go build -ldflags "-X tagbus/internal/build.release=v0.1.0".
var release string

// Release returns the version that the build was given by hand, or "".
func Release() string { return release }

// Info returns what the go command has noted of this program. It has no settings if that is
// nothing.
var Info = sync.OnceValue(func() *debug.BuildInfo {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return info
})

// Version returns the version of tagbus in this program, and that of Go. It is that of the
// release, otherwise that which a program of another module requires, or that of the commit;
// "(devel)" if none is known.
func Version() (program, goVersion string) { return once() }

var once = sync.OnceValues(func() (string, string) { return version(release, Info()) })

func version(release string, info *debug.BuildInfo) (program, goVersion string) {
	if info.Main.Path == module {
		program = info.Main.Version
	}
	for _, m := range info.Deps {
		if m.Path == module {
			program = m.Version
		}
	}
	return cmp.Or(release, program, "(devel)"), cmp.Or(info.GoVersion, "unknown")
}
