// SPDX-License-Identifier: Apache-2.0

package monitoring_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tagbus/internal/testkit"
)

// program returns the path of a program of Debian's package prometheus, which
// scripts/setup.sh puts into the user's cache folder, or skips the test.
func program(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	if cache, err := os.UserCacheDir(); err == nil {
		if path, err := exec.LookPath(filepath.Join(cache, "tagbus", "prometheus", "usr", "bin", name)); err == nil {
			return path
		}
	}
	t.Skipf("needs %s (scripts/setup.sh fetches it from the Debian package prometheus)", name)
	return ""
}

// promtool runs it and returns what it says.
func promtool(t *testing.T, args ...string) (said string, err error) {
	t.Helper()
	testkit.DependsOnTree()
	out, err := exec.CommandContext(t.Context(), program(t, "promtool"), args...).CombinedOutput()
	return string(out), err
}

func TestTheRulesPass(t *testing.T) {
	for _, args := range [][]string{{"check", "rules", rulesFile}, {"test", "rules", rulesTestFile}} {
		if said, err := promtool(t, args...); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, said)
		}
	}
}

// TestTheRulesAreTested: with a limit that is wrong, the tests of the rules fail.
func TestTheRulesAreTested(t *testing.T) {
	rules := read(t, rulesFile)
	for old, wrong := range map[string]string{"> 0.8\n": "> 0.95\n", `cause!="full"`: `cause="full"`} {
		changed := strings.ReplaceAll(rules, old, wrong)
		if changed == rules {
			t.Errorf("the rules have no %q", old)
		}
		folder := t.TempDir()
		write(t, filepath.Join(folder, "tagbus.rules.yml"), changed)
		write(t, filepath.Join(folder, "tagbus.rules.test.yml"), read(t, rulesTestFile))
		if said, err := promtool(t, "test", "rules", filepath.Join(folder, "tagbus.rules.test.yml")); err == nil || !strings.Contains(said, "FAILED") {
			t.Errorf("with %q instead of %q: got %v and\n%s\nwant a failure", wrong, old, err, said)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// asPrometheus puts values for Grafana's variables.
var asPrometheus = strings.NewReplacer(
	"$__rate_interval", "5m", "$__range", "1h",
	`"$job"`, `".*"`, `"$instance"`, `".*"`, `"$name"`, `".*"`, `"$host"`, `".*"`)

// recordings returns the expressions of the dashboard as rules that record them.
func recordings(t *testing.T) string {
	t.Helper()
	var rules strings.Builder
	fmt.Fprintln(&rules, "groups:\n  - name: dashboard\n    rules:")
	for i, expr := range readDashboard(t).expressions() {
		expr = asPrometheus.Replace(expr)
		if left := regexp.MustCompile(`\$\w+`).FindString(expr); left != "" {
			t.Errorf("%s: the variable %s is not known", expr, left)
		}
		fmt.Fprintf(&rules, "      - {record: dashboard:expression:%d, expr: %q}\n", i, expr)
	}
	return rules.String()
}

// TestTheDashboardsExpressionsParse as those of rules do.
func TestTheDashboardsExpressionsParse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dashboard.yml")
	write(t, file, recordings(t))
	if said, err := promtool(t, "check", "rules", file); err != nil {
		t.Errorf("promtool: %v\n%s", err, said)
	}
}
