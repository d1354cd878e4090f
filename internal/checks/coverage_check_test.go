// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckCoverage(t *testing.T) {
	tests := []struct {
		name string
		row  string
		want []string
	}{
		{"all names exist", "| sends | `Endpoint.Send`, and `reactor.New` | `TestStop`, `suite: port 0 gives a real port` | kept | same |", nil},
		{"fields, methods of structs and constants are names", "| sends | `Config.Mode` `netio.Config.Validate` `netio.Safe` | `ExampleNew` | kept | same |", nil},
		{"a test that several have is named with its directory", "| sends | `netio.Safe` | `netio/reactor.TestOutput` | kept | same |", nil},
		{"a subtest is named", "| sends | `netio.Safe` | `TestStop/before Run` | kept | same |", nil},
		{"a subtest of the directory that is named", "| sends | `netio.Safe` | `cmd.TestOutput/of cmd` | kept | same |", nil},
		{"other states with a reason", "| sends | `netio.Safe` | `TestStop` | put otherwise: in Go's terms | same |", nil},
		{"a test that does not exist", "| sends | `netio.Safe` | `TestStart` | kept | same |", []string{"6: there is no test TestStart"}},
		{"a function that is no test", "| sends | `netio.Safe` | `Testing` | kept | same |", []string{"6: there is no test Testing"}},
		{"TestMain is no test", "| sends | `netio.Safe` | `TestMain` | kept | same |", []string{"6: there is no test TestMain"}},
		{"a test of another module", "| sends | `netio.Safe` | `TestElsewhere` | kept | same |", []string{"6: there is no test TestElsewhere"}},
		{"a test of another directory", "| sends | `netio.Safe` | `cmd.TestStop` | kept | same |", []string{"6: there is no test cmd.TestStop"}},
		{"a test that several have", "| sends | `netio.Safe` | `TestOutput` | kept | same |", []string{"6: several directories have TestOutput: write which, as in cmd.TestOutput"}},
		{"a subtest that does not exist", "| sends | `netio.Safe` | `TestStop/before Stop` | kept | same |", []string{`6: TestStop has no subtest "before Stop"`}},
		{"a subtest of another directory", "| sends | `netio.Safe` | `netio/reactor.TestOutput/of cmd` | kept | same |", []string{`6: TestOutput has no subtest "of cmd"`}},
		{"a check that does not exist", "| sends | `netio.Safe` | `suite: port 1` | kept | same |", []string{`6: the conformance suite has no check "port 1"`}},
		{"a case of a check is no check", "| sends | `netio.Safe` | `suite: no check` | kept | same |", []string{`6: the conformance suite has no check "no check"`}},
		{"a name that is no test", "| sends | `netio.Safe` | `port 0 gives a real port` | kept | same |", []string{`6: "port 0 gives a real port" is neither a test nor a "suite: " with the name of a check`}},
		{"words among the tests", "| sends | `netio.Safe` | `TestStop`, by hand | kept | same |", []string{`6: got "by hand" among the tests, want names only`}},
		{"tests without a name", "| sends | `netio.Safe` | by hand | kept | same |", []string{`6: got "by hand", want the name of a test in it`, `6: got "by hand" among the tests, want names only`}},
		{"an API that does not exist", "| sends | `netio.Unsafe` | `TestStop` | kept | same |", []string{"6: no package exports netio.Unsafe"}},
		{"a method that does not exist", "| sends | `Endpoint.Receive` | `TestStop` | kept | same |", []string{"6: no package exports netio.Endpoint.Receive"}},
		{"a field that is not exported", "| sends | `Config.hidden` | `TestStop` | kept | same |", []string{"6: no package exports netio.Config.hidden"}},
		{"an API of another package", "| sends | `reactor.Safe` | `TestStop` | kept | same |", []string{"6: no package exports reactor.Safe"}},
		{"an API without a name", "| sends | a method | `TestStop` | kept | same |", []string{`6: got "a method", want the name of an API in it`}},
		{"an unknown state", "| sends | `netio.Safe` | `TestStop` | open | same |", []string{`6: got the state "open", want kept, put otherwise or RDMA only`}},
		{"a state without its reason", "| sends | `netio.Safe` | `TestStop` | RDMA only: | same |", []string{`6: got no reason for "RDMA only", want one behind a colon`}},
		{"a reason that nobody needs", "| sends | `netio.Safe` | `TestStop` | kept: nearly | same |", []string{`6: got a reason for "kept", want none`}},
		{"empty cells", "| | | | | |", []string{"6: promise is empty", "6: Go API is empty", "6: tests is empty", "6: state is empty", "6: RDMA is empty"}},
		{"a cell too few", "| sends | `netio.Safe` | `TestStop` | kept |", []string{"6: got 4 cells, want 5"}},
		{"what RDMA does is said with names", "| sends | `netio.Safe` | `TestStop` | kept | put otherwise: `Config.Mode`, `netio/reactor.TestOutput`, `suite: port 0 gives a real port` |", nil},
		{"not a backend's matter", "| sends | `netio.Safe` | `TestStop` | kept | - |", nil},
		{"an unknown word for RDMA", "| sends | `netio.Safe` | `TestStop` | kept | open |", []string{`6: got "open" of RDMA, want same, put otherwise, not supported or -`}},
		{"RDMA without its reason", "| sends | `netio.Safe` | `TestStop` | kept | not supported |", []string{`6: got no reason for "not supported", want one behind a colon`}},
		{"RDMA with a reason that nobody needs", "| sends | `netio.Safe` | `TestStop` | kept | -: really |", []string{`6: got a reason for "-", want none`}},
		{"RDMA with a test that does not exist", "| sends | `netio.Safe` | `TestStop` | kept | same: `TestStart` |", []string{"6: there is no test TestStart"}},
		{"RDMA with an API that does not exist", "| sends | `netio.Safe` | `TestStop` | kept | same: `netio.Unsafe` |", []string{"6: no package exports netio.Unsafe"}},
	}
	s := readSource(t, made)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text := "## guide\n### sending\n\n" + coverageHeader + "\n|---|---|---|---|---|\n" + test.row + "\n"
			rows, got := checkCoverage(s, text, []string{"guide"})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
			if rows["guide"] != 1 {
				t.Errorf("rows: got %d, want 1", rows["guide"])
			}
		})
	}
}

// TestCheckCoverageKnowsItsPlace: a row that the checker passes over would
// not be held to anything.
func TestCheckCoverageKnowsItsPlace(t *testing.T) {
	const row = "| sends | `netio.Safe` | `TestStop` | kept | same |\n"
	tests := []struct {
		name string
		text string
		want []string
	}{
		{"a table with another header", "## guide\n### sending\n| what | state |\n|---|---|\n" + row, []string{"3: a table begins with " + coverageHeader}},
		{"a table without header", "## guide\n### sending\n" + row + row, []string{"3: a table begins with " + coverageHeader}},
		{
			"a section that begins without header", "## guide\n### sending\n" + coverageHeader + "\n" + row + "### closing\n" + row + row,
			[]string{"6: a table begins with " + coverageHeader},
		},
		{"a row outside a section", "## guide\n" + coverageHeader + "\n|---|---|---|---|\n" + row, []string{"4: the row stands below no section of a document"}},
		{
			"a row of another document", "## guide\n### sending\n" + coverageHeader + "\n" + row + "## other\n### sending\n" + coverageHeader + "\n" + row,
			[]string{"8: the row stands below no section of a document"},
		},
		{"a document without a row", "## guide\n### sending\n", []string{"0: no row of guide"}},
	}
	s := readSource(t, made)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, got := checkCoverage(s, test.text, []string{"guide"})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
		})
	}
}
