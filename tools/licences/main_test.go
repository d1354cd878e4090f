// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAllThatProgramsLinkMayGoOut: those of the core, those with etcd, and the bridge.
func TestAllThatProgramsLinkMayGoOut(t *testing.T) {
	for _, test := range []struct {
		dir      string
		packages []string
		want     string // one of the modules
	}{
		{"../..", []string{"./cmd/publisher", "./cmd/subscriber", "./cmd/tagbus"}, "github.com/alecthomas/kong"},
		{"../../directory/etcd", []string{"./cmd/..."}, "go.etcd.io/etcd/server/v3"},
		{"../../bridge", []string{"./cmd/..."}, "github.com/nats-io/nats.go"},
	} {
		modules, err := linked(test.dir, test.packages...)
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if err := write(&out, modules); err != nil {
			t.Errorf("%s: %v", test.dir, err)
		}
		for _, want := range []string{"\n" + test.want + " v", "\nGo go1.", "Redistribution and use"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: got no %q in the licences", test.dir, want)
			}
		}
		if strings.Contains(out.String(), "\ntagbus") {
			t.Errorf("%s: got tagbus itself among the licences", test.dir)
		}
	}
}

func TestLicencesThatDoNotDo(t *testing.T) {
	const mit = "MIT\n\nPermission is hereby granted,\nfree of charge, to any person"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  string // the error; "" if there is none
	}{
		{"one that does", map[string]string{"LICENSE.md": mit, "NOTICE": "thanks"}, ""},
		{"none", map[string]string{"README": mit, "license.go": mit}, "x v1: has no licence"},
		{"another", map[string]string{"COPYING": "GNU GENERAL PUBLIC LICENSE"}, `x v1: has a licence that is not known: "GNU GENERAL PUBLIC LICENSE"`},
		{"one of two", map[string]string{"LICENSE": mit, "LICENSE.other": "Mozilla"}, `x v1: has a licence that is not known: "Mozilla"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range test.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out strings.Builder
			err := write(&out, []module{{"x", "v1", dir}, {"y", "v2", dir}})
			switch {
			case test.want == "" && (err != nil || strings.Count(out.String(), mit) != 1 || !strings.Contains(out.String(), "x v1\ny v2\n\nthanks")):
				t.Errorf("got %v and\n%s\nwant each text once, below both modules", err, &out)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
