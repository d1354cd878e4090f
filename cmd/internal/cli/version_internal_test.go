// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"runtime/debug"
	"testing"
)

func TestVersionOfABuild(t *testing.T) {
	const commit = "fd6708c5f2d1a0e0b6c4b1a2f3d4e5f60718293a"
	at := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{
			{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: commit}, {Key: "vcs.modified", Value: modified},
		}
	}
	tests := []struct {
		name     string
		release  string
		module   string // its version
		settings []debug.BuildSetting
		want     string
	}{
		{"a commit that has a tag", "", "v0.1.0", at("false"), "v0.1.0 (commit " + commit + ", go1.26.8)"},
		{
			"a commit after it", "", "v0.1.1-0.20261123162856-fd6708c5f2d1", at("false"),
			"v0.1.1-0.20261123162856-fd6708c5f2d1 (commit " + commit + ", go1.26.8)",
		},
		{"with changes that are in no commit", "", "v0.1.0+dirty", at("true"), "v0.1.0+dirty (commit " + commit + " with changes, go1.26.8)"},
		{"an archive, as a release builds it", "v0.1.0", "(devel)", nil, "v0.1.0 (go1.26.8)"},
		{"a release whose name was set, in a checkout", "v0.1.0-rc1", "v0.1.0", at("false"), "v0.1.0-rc1 (commit " + commit + ", go1.26.8)"},
		{"a module of another one", "", "v0.1.0", nil, "v0.1.0 (go1.26.8)"},
		{"an archive, as go build builds it", "", "(devel)", nil, "of unknown version (go1.26.8)"},
		{"a test", "", "", nil, "of unknown version (go1.26.8)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: tt.module}, Settings: tt.settings}
			if got := describe(tt.release, info); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
