// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/cmd/internal/cli"
	"tagbus/internal/testkit"
)

// patient are flags of a command that answers within a time.
type patient struct {
	cli.Common
	Timeout time.Duration `default:"50ms"`
}

func (p *patient) Check() error { return p.Common.Check() }

// TestParse_aFileIsWaitedForAsLongAsTheTimeoutSays: as any other file of the command. It cannot say so itself.
func TestParse_aFileIsWaitedForAsLongAsTheTimeoutSays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := unix.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { testkit.ReleaseFIFO(t, file) })
	for _, test := range []struct {
		args, env, after string
	}{
		{"--bus b --timeout 20ms --config " + file, "", "20ms"},
		{"--bus b --config " + file, "30ms", "30ms"},
		{"--bus b --timeout 40ms --config " + file, "an hour", "40ms"},
		{"--bus b --config " + file, "", "50ms"},
	} {
		t.Setenv("TAGBUS_TIMEOUT", test.env)
		var said bytes.Buffer
		code, run := cli.Parse(cli.Program{Name: "tool"}, &patient{}, strings.Fields(test.args), cli.Streams{Out: io.Discard, Err: &said})
		want := "tool: waiting for the end of " + file + " (--config), which is a pipe or a device: write to it, or name a file; given up after " + test.after + "\n"
		if code != cli.ExitFailed || run || said.String() != want {
			t.Errorf("%s: got %d, %t and %q, want %d, false and %q", test.args, code, run, said.String(), cli.ExitFailed, want)
		}
	}
}
