// SPDX-License-Identifier: Apache-2.0

package build

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	own := debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: module, Version: "v0.2.1-0.20261123"}}
	user := debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Path: "daq", Version: "v9.9.9"}, Deps: []*debug.Module{{Path: module, Version: "v0.2.0"}}}
	for _, test := range []struct {
		name    string
		release string
		info    debug.BuildInfo
		want    string
		wantGo  string
	}{
		{"a commit", "", own, "v0.2.1-0.20261123", "go1.26.8"},
		{"a release", "v0.3.0", own, "v0.3.0", "go1.26.8"},
		{"a program of another module", "", user, "v0.2.0", "go1.26.8"},
		{"nothing is known", "", debug.BuildInfo{}, "(devel)", "unknown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got, goVersion := version(test.release, &test.info); got != test.want || goVersion != test.wantGo {
				t.Errorf("got %s, %s, want %s, %s", got, goVersion, test.want, test.wantGo)
			}
		})
	}
	if got, goVersion := Version(); got == "" || goVersion == "unknown" || Release() != "" {
		t.Errorf("this program: got %q, %q and the release %q", got, goVersion, Release())
	}
}
