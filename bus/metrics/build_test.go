// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"maps"
	"runtime/debug"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestBuildLabels(t *testing.T) {
	const commit = "0123abcd"
	at := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: commit}, {Key: "vcs.modified", Value: modified}}
	}
	tests := []struct {
		name                         string
		info                         *debug.BuildInfo
		release                      string
		version, revision, goversion string
	}{
		{"no information", nil, "", "unknown", "unknown", "unknown"},
		{
			"a command of the module", &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "tagbus", Version: "v1.2.3"}, Settings: at("false")}, "",
			"v1.2.3", commit, "go1.26.8",
		},
		{
			"one with changes, and a version of its own", &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "tagbus", Version: "(devel)"}, Settings: at("true")}, "2.0",
			"2.0", commit + "-modified", "go1.26.8",
		},
		{
			"a program of another module has another commit", &debug.BuildInfo{
				GoVersion: "go1.26.8", Main: debug.Module{Path: "mine", Version: "v7.0.0"}, Settings: at("false"),
				Deps: []*debug.Module{{Path: "other", Version: "v8.0.0"}, {Path: "tagbus", Version: "v1.2.3"}},
			}, "",
			"v1.2.3", "unknown", "go1.26.8",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := prometheus.Labels{"version": test.version, "revision": test.revision, "goversion": test.goversion}
			if got := buildLabels(test.info, test.release); !maps.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
