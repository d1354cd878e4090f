// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/service"
)

// commands are those of a program of another module.
type commands struct {
	Work work `cmd:"" help:"Work."`
	Read read `cmd:"" help:"Read."`
}

// work is one of them.
type work struct {
	Times int  `default:"1" help:"How often."`
	Fail  bool `help:"Fail."`
	Wait  bool `help:"Wait for the end."`
}

// Check implements service.Command.
func (w *work) Check() error {
	if w.Times < 1 {
		return fmt.Errorf("--times: got %d, want 1 or more", w.Times)
	}
	return nil
}

// read is one that needs no bus.
type read struct{}

// Check implements service.Command.
func (*read) Check() error { return nil }

// NeedsBus implements service.Busless.
func (*read) NeedsBus() bool { return false }

// Run implements service.Command.
func (*read) Run(_ context.Context, e *service.Env) (fmt.Stringer, error) {
	e.Ready()
	if e.Node != nil {
		return nil, errWork
	}
	return done{1}, nil
}

// done is the summary.
type done struct {
	Times int `json:"times"`
}

// String implements fmt.Stringer.
func (d done) String() string { return fmt.Sprintf("worked %d times", d.Times) }

// errWork is the error of --fail.
var errWork = errors.New("the work failed")

// Run implements service.Command.
func (w *work) Run(ctx context.Context, e *service.Env) (fmt.Stringer, error) {
	e.Ready()
	e.Say("working as %q", e.Name)
	if w.Wait {
		<-ctx.Done()
	}
	if w.Fail {
		return done{w.Times}, errWork
	}
	return done{w.Times}, nil
}

// TestMain_runsACommand with the flags of all commands, and its own from the command line and a file.
func TestMain_runsACommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte("name = \"x\"\n[work]\ntimes = 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, args string
		code       int
		out, err   string
	}{
		{"a file with its flags", "--config " + file + " work", 0, "", "worked 3 times"},
		{"a failure", "work --fail", 1, "", "the work failed"},
		{"a time", "work --wait --duration 10ms", 0, "", "worked 1 times"},
		{"JSON", "work --json --times 2", 0, `"summary":{"times":2}`, `working as ""`},
		{"JSON of a failure", "work --json --fail", 1, `"exit":1,"error":"the work failed"`, ""},
		{"a wrong flag", "work --times 0", 2, "", "--times: got 0"},
		{"a flag that has no effect", "work --loss-file x", 2, "", "--loss-file: this program writes none"},
		{"no command", "", 2, "", "work"},
		{"the help", "work --help", 0, "How often.", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out, err bytes.Buffer
			args := append([]string{"--bus", t.TempDir(), "--backend", "tcp"}, strings.Fields(test.args)...)
			code := service.Main(cli.Program{Name: "worker", Description: "Works."}, new(commands), args, cli.Streams{Out: &out, Err: &err})
			if code != test.code || !strings.Contains(out.String(), test.out) || !strings.Contains(err.String(), test.err) {
				t.Errorf("got status %d, %q and %q, want %d, %q and %q", code, out.String(), err.String(), test.code, test.out, test.err)
			}
			if strings.Contains(test.args, "--json") && !json.Valid(out.Bytes()) {
				t.Errorf("got %q, want JSON", out.String())
			}
		})
	}
}

// TestMain_aCommandWithoutABus does not miss --bus. The others do.
func TestMain_aCommandWithoutABus(t *testing.T) {
	for args, want := range map[string]int{"read": 0, "read --name \x01": 2, "work": 2} {
		var out, err bytes.Buffer
		code := service.Main(cli.Program{Name: "worker"}, new(commands), strings.Fields(args), cli.Streams{Out: &out, Err: &err})
		if code != want || code == 0 && !strings.Contains(err.String(), "worked 1 times") || args == "work" && !strings.Contains(err.String(), "--bus") {
			t.Errorf("%q: got status %d and %q, want %d", args, code, err.String(), want)
		}
	}
}
