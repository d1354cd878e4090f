// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// failingTest returns the events of a test that fails, and says a line.
func failingTest(pkg, name, says string) string {
	return fmt.Sprintf(`{"Action":"output","Package":%q,"Test":%q,"Output":%q}
{"Action":"fail","Package":%[1]q,"Test":%[2]q}
`, pkg, name, says+"\n")
}

// failingPackage returns the event of a package that fails.
func failingPackage(pkg string) string {
	return fmt.Sprintf(`{"Action":"fail","Package":%q}`+"\n", pkg)
}

func TestWhatIsRunAgain(t *testing.T) {
	const wrong = "    a_test.go:9: got 1, want 2"
	sub := failingTest("p", "TestA/kill_(9)", wrong) + failingTest("p", "TestA", "--- FAIL: TestA") + failingPackage("p")
	many := ""
	for i := range mostAgain + 1 {
		many += failingTest("p", fmt.Sprint("Test", i), wrong)
	}
	tests := []struct {
		name, input, want, says string
	}{
		{"a run that passes leaves nothing", `{"Action":"pass","Package":"p","Test":"TestA"}` + "\n", "", ""},
		{"a test is named by a pattern that matches nothing else", failingTest("p", "TestA", wrong) + failingPackage("p"), "p\t^TestA$\n", ""},
		{"a subtest stands for its test", sub, "p\t^TestA$/^kill_\\(9\\)$\n", ""},
		{"a test that ends before its subtests is none of its own", failingTest("p", "TestA", "") + failingTest("p", "TestA/b", wrong) + failingPackage("p"), "p\t^TestA$/^b$\n", ""},
		{"two builds of a test are one", sub + sub, "p\t^TestA$/^kill_\\(9\\)$\n", ""},
		{"a package that fails by itself in one of two builds", sub + failingPackage("p"), "", "no second run: a package has failed beside its tests"},
		{"two packages", failingTest("p", "TestA", wrong) + failingPackage("p") + failingTest("q", "TestA", wrong) + failingPackage("q"), "p\t^TestA$\nq\t^TestA$\n", ""},
		{"a data race is no accident", failingTest("p", "TestA", "WARNING: DATA RACE") + failingPackage("p"), "", "no second run: it is no accident: WARNING: DATA RACE"},
		{"a panic is no accident", failingTest("p", "TestA", "panic: boom") + failingPackage("p"), "", "no accident"},
		{"a test that never ended is no accident", `{"Action":"output","Package":"p","Test":"TestA","Output":"stuck\n"}` + "\n" + failingPackage("p"), "", "a package has failed beside its tests"},
		{"a package that fails by itself is no accident", failingPackage("p"), "", "a package has failed beside its tests"},
		{"many are no accident", many + failingPackage("p"), "", "4 tests have failed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "again")
			var out, errOut strings.Builder
			status := run([]string{"-again", file}, strings.NewReader(test.input), &out, &errOut)
			if failed := strings.Contains(test.input, `"fail"`); failed != (status == 1) {
				t.Errorf("got status %d; output:\n%s%s", status, &out, &errOut)
			}
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if !strings.Contains(out.String(), test.says) {
				t.Errorf("got output\n%s\nwant it to contain %q", &out, test.says)
			}
		})
	}
}
