// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	const pass = `{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.01s\n"}
{"Action":"pass","Package":"p"}
`
	const skipped = `{"Action":"output","Package":"p","Test":"TestB","Output":"=== RUN   TestB\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:7: needs a C compiler\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestB"}
`
	const other = `{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: needs a moon\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
`
	const seed = `{"Action":"output","Package":"p","Output":"-test.shuffle 12345\n"}
`
	const failing = `{"Action":"output","Package":"p","Test":"TestC","Output":"    c_test.go:9: got 1, want 2\n"}
{"Action":"fail","Package":"p","Test":"TestC"}
{"Action":"fail","Package":"p"}
`
	const panicking = `{"Action":"output","Package":"p","Test":"TestD","Output":"panic: boom\n"}
{"Action":"fail","Package":"p"}
`
	const broken = `{"ImportPath":"p","Action":"build-output","Output":"x.go:1:1: syntax error\n"}
{"ImportPath":"p","Action":"build-fail"}
{"Action":"fail","Package":"p","FailedBuild":"p"}
`
	tests := []struct {
		name   string
		input  string
		args   []string
		status int
		want   []string
		not    string
	}{
		{"a passing run prints the package line and the totals", pass, nil, 0, []string{"ok  \tp\t0.01s\n", "1 passed, 0 failed, 0 skipped"}, "RUN"},
		{"a skip is counted and named but passes outside strict runs", pass + skipped, nil, 0, []string{"1 skipped", "skipped: p TestB: b_test.go:7: needs a C compiler"}, "--- SKIP"},
		{"a skip that is not allowed fails a strict run", pass + skipped, []string{"-strict"}, 1, []string{"FAIL: 1 skipped"}, ""},
		{"an allowed skip passes a strict run", pass + skipped, []string{"-strict", "-allow", "ALLOW"}, 0, []string{"1 skipped"}, "FAIL"},
		{"a skip that is not allowed is named last", pass + other + skipped, []string{"-strict", "-allow", "ALLOW"}, 1, []string{"TestB: b_test.go:7: needs a C compiler\nskipped: p TestA: a_test.go:7: needs a moon  [not in the list of allowed skips]\nFAIL"}, ""},
		{"a failure prints what the test said", pass + failing, nil, 1, []string{"got 1, want 2", "1 passed, 1 failed"}, ""},
		{"a failure is repeated after the skipped tests", pass + failing + skipped, nil, 1, []string{"[not in the list of allowed skips]\nfailed: "}, ""},
		{"a failing package names the seed of its order", seed + pass + seed + failing, nil, 1, []string{"12345"}, ""},
		{"a passing package keeps its seed to itself", seed + pass, nil, 0, nil, "12345"},
		{"a panic prints the output of the test that never ended", pass + panicking, nil, 1, []string{"panic: boom"}, ""},
		{"a package that does not build fails", pass + broken, nil, 1, []string{"syntax error"}, ""},
		{"a run without any test fails", "", nil, 1, []string{"no test passed"}, ""},
		{"a line of the go command is kept", pass + "go: downloading x\n", nil, 0, []string{"go: downloading x\n"}, ""},
		{"an unreadable list is wrong usage", pass, []string{"-allow", "/does/not/exist"}, 2, nil, ""},
		{"an unknown flag is wrong usage", pass, []string{"-wrong"}, 2, nil, ""},
	}
	allow := filepath.Join(t.TempDir(), "allow")
	if err := os.WriteFile(allow, []byte("# a comment\n\nneeds a C compiler\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			args := strings.Fields(strings.ReplaceAll(strings.Join(test.args, " "), "ALLOW", allow))
			var out, errOut strings.Builder
			if got := run(args, strings.NewReader(test.input), &out, &errOut); got != test.status {
				t.Errorf("got status %d, want %d; output:\n%s%s", got, test.status, &out, &errOut)
			}
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("got output\n%s\nwant it to contain %q", &out, want)
				}
			}
			if test.not != "" && strings.Contains(out.String(), test.not) {
				t.Errorf("got output\n%s\nwant it without %q", &out, test.not)
			}
		})
	}
}

func TestReadAllowedNamesTheBadLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "allow")
	if err := os.WriteFile(path, []byte("fine\n(\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readAllowed(path); err == nil || !strings.Contains(err.Error(), "allow:2:") {
		t.Errorf("got error %v, want one that names line 2", err)
	}
}
