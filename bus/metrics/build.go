// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"cmp"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// module is the path of this module.
const module = "tagbus"

// OfBuild returns a collector that says which version of the bus a program has:
// tagbus_build_info, which is always 1, with the labels version, revision and goversion.
//
//   - release: the version, where the program knows better than the go command; or
//     empty. In a program of another module the version is that of its requirement.
//   - Labels: what is unknown is "unknown". revision is the commit of a program that is
//     built in this module, with "-modified" if there were changes.
//   - Threads: any. Blocks: never.
func OfBuild(release string) prometheus.Collector {
	info, _ := debug.ReadBuildInfo()
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "tagbus_build_info",
		Help:        "1 for this program, with the version of the bus, the commit and the version of Go. Compare the versions of programs that do not understand each other.",
		ConstLabels: buildLabels(info, release),
	}, func() float64 { return 1 })
}

// buildLabels returns the labels for the build that info describes; nil: unknown.
func buildLabels(info *debug.BuildInfo, release string) prometheus.Labels {
	if info == nil {
		info = new(debug.BuildInfo)
	}
	version, revision := "", ""
	if info.Main.Path == module {
		version = info.Main.Version
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = s.Value + revision
			case s.Key == "vcs.modified" && s.Value == "true":
				revision += "-modified"
			}
		}
	}
	for _, m := range info.Deps {
		if m.Path == module {
			version = m.Version
		}
	}
	return prometheus.Labels{
		"version":   text(cmp.Or(release, version, "unknown")),
		"revision":  text(cmp.Or(revision, "unknown")),
		"goversion": text(cmp.Or(info.GoVersion, "unknown")),
	}
}
