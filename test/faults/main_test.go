// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"slices"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	for _, test := range []struct {
		name string
		o    options
		want []string // numbers of rows
		err  string   // part of it
	}{
		{"a number", options{only: "^2$"}, []string{"2"}, ""},
		{"a number and a name", options{only: "^2 a subscriber"}, []string{"2"}, ""},
		{"several", options{only: "^(2|5|shm 1)$"}, []string{"2", "5", "shm 1"}, ""},
		{"a name", options{only: "revoked under"}, []string{"50c"}, ""},
		{"several of the selection", options{only: "^5[0b]?$", quick: true}, []string{"5", "50"}, ""},
		{"none", options{only: "^2x"}, nil, `-only "^2x": no row has such a number, or number and name: -list shows them`},
		{"none of the selection", options{only: "^2b$", quick: true}, nil, `-only "^2b$": no row of -quick has`},
		{"no expression", options{only: "("}, nil, "-only (: error parsing regexp"},
		{"a part of a document", options{only: "^2$", doc: "faults.md"}, nil, "-doc faults.md: it has all rows: leave out -only and -quick"},
		{"the selection as a document", options{quick: true, doc: "faults.md"}, nil, "leave out -only and -quick"},
	} {
		t.Run(test.name, func(t *testing.T) {
			rows, err := choose(test.o)
			var got []string
			for i := range rows {
				got = append(got, rows[i].Number)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got the rows %q, want %q", got, test.want)
			}
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got error %v, want %q", err, test.err)
			}
		})
	}
}
