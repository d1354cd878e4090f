// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Modules that are built in one workspace take the newest version that one of them asks for. Each asks for
// that, so that a module that is built by itself is what CI has tested.
func TestModules_agreeOnWhatTheyShare(t *testing.T) {
	inRoot(t)
	const folder = ".ci"
	seen := map[string][2]string{} // by its path: the version, and the module that asks for it
	for _, module := range blockOf(t, filepath.Join(folder, "go.work"), "use") {
		file := filepath.Join(folder, module, "go.mod")
		for _, line := range blockOf(t, file, "require") {
			path, version, _ := strings.Cut(line, " ")
			if before, ok := seen[path]; ok && before[0] != version {
				t.Errorf("%s asks for %s %s, and %s for %s\n\twant: the newer one in both (go get %[2]s@VERSION, go mod tidy)",
					file, path, version, before[1], before[0])
			}
			seen[path] = [2]string{version, file}
		}
	}
	if len(seen) == 0 {
		t.Error("the modules of .ci/go.work ask for nothing: is it read as it is written?")
	}
}

// blockOf returns the lines, without their comments, of all blocks of a kind in a go.mod or a go.work.
func blockOf(t *testing.T, file, kind string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "//")
		switch line = strings.TrimSpace(line); {
		case line == kind+" (":
			inside = true
		case line == ")":
			inside = false
		case inside && line != "":
			lines = append(lines, line)
		}
	}
	return lines
}
