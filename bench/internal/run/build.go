// SPDX-License-Identifier: Apache-2.0

// Package run builds the benchmark programs, runs them on a machine that is
// otherwise idle, and measures them from outside.
package run

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tagbus/bench/internal/scenario"
)

// Built are the programs that could be built.
type Built struct {
	folder  string
	Skipped map[string]string // by program: what is missing
}

// Build builds all programs into a folder. What this machine lacks for one is in
// Skipped; an error is that of a program that should have been built.
func Build(ctx context.Context, folder string) (*Built, error) {
	b := &Built{folder: folder, Skipped: make(map[string]string)}
	for _, p := range scenario.Programs {
		command, missing := builder(ctx, p, b.Path(p.Name))
		if missing != "" {
			b.Skipped[p.Name] = missing
			continue
		}
		if out, err := command.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("run: build %s: %w\n%s", p.Name, err, out)
		}
	}
	return b, nil
}

// Path returns where a program is.
func (b *Built) Path(program string) string { return filepath.Join(b.folder, program) }

// builder returns the command that builds a program, or what is missing for it.
func builder(ctx context.Context, p scenario.Program, target string) (*exec.Cmd, string) {
	goProgram := !strings.HasSuffix(p.Source, ".c")
	if goProgram && p.Libs == nil {
		target, err := filepath.Abs(target)
		if err != nil {
			return nil, err.Error()
		}
		command := exec.CommandContext(ctx, "go", "build", "-o", target, p.Source)
		command.Dir = p.Folder
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
		return command, ""
	}
	if _, err := exec.LookPath("cc"); err != nil {
		return nil, "no C compiler (Debian: gcc libc6-dev)"
	}
	if goProgram {
		if err := exec.CommandContext(ctx, "pkg-config", append([]string{"--exists"}, p.Libs...)...).Run(); err != nil {
			return nil, "no " + strings.Join(p.Libs, ", ") + " (Debian: libzmq3-dev pkg-config)"
		}
		command := exec.CommandContext(ctx, "go", "build", "-o", target, p.Source)
		command.Env = append(os.Environ(), "CGO_ENABLED=1")
		return command, ""
	}
	if len(p.Libs) > 0 && !links(ctx, p.Libs) {
		return nil, "no library for " + strings.Join(p.Libs, " ") + " (Debian: libzmq3-dev libnng-dev iceoryx libiceoryx-binding-c-dev)"
	}
	args := append([]string{"-std=gnu11", "-O2", "-Wall", "-Wextra", "-Wno-unused-function", "-o", target, p.Source}, p.Libs...)
	return exec.CommandContext(ctx, "cc", args...), ""
}

// links reports whether a program can be linked with libraries.
func links(ctx context.Context, libs []string) bool {
	args := append([]string{"-x", "c", "-", "-o", os.DevNull}, libs...)
	command := exec.CommandContext(ctx, "cc", args...)
	command.Stdin = strings.NewReader("int main(void) { return 0; }")
	return command.Run() == nil
}
