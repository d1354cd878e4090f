// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tagbus/bridge/cmd/internal/commands"
	"tagbus/cmd/programs"
)

// TestPages have the commands and their flags; those of tagbus try them with the tools that read them.
func TestPages(t *testing.T) {
	dir := t.TempDir()
	if err := programs.ServicePages(dir, "v0.1.0", "2026-11-29", "tagbus-bridge", commands.Description, new(commands.Commands)); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]string{
		"man/tagbus-bridge.1":                {`.TH TAGBUS-BRIDGE 1 2026-11-29 "tagbus v0.1.0"`, ".SS out\n", ".SS in\n", `\-\-stream`, `\-\-follow`, "TAGBUS_OUT_STREAM"},
		"completion/bash/tagbus-bridge":      {"--stream", "--follow"},
		"completion/zsh/_tagbus-bridge":      {"--stream", "--follow"},
		"completion/fish/tagbus-bridge.fish": {"-l stream", "-l follow"},
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s lacks %q", file, part)
			}
		}
	}
}
