// SPDX-License-Identifier: Apache-2.0

// Package monitoring_test checks what operators import from deploy/ against what the
// commands export.
package monitoring_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tagbus/internal/testkit"
)

const (
	rulesFile     = "../../../deploy/prometheus/tagbus.rules.yml"
	rulesTestFile = "../../../deploy/prometheus/tagbus.rules.test.yml"
	dashboardFile = "../../../deploy/grafana/tagbus.json"
	runbook       = "../../../docs/runbook.md"
	reference     = "../../../docs/reference.md"
)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	testkit.Must(t, err)
	return string(text)
}

// matches returns the first group of all matches.
func matches(pattern, text string) (found []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

// alerts returns the names of the alerts, which promtool has read as YAML if it is here.
func alerts(t *testing.T) []string {
	t.Helper()
	names := matches(`(?m)^      - alert: (\w+)$`, read(t, rulesFile))
	if len(names) < 10 {
		t.Fatalf("got alerts %q, want all", names)
	}
	return names
}

// dashboard is the part of Grafana's format that the tests look at.
type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Panels        []panel
	Templating    struct {
		List []struct {
			Name, Type string
			Datasource source
			Definition string
		}
	}
	Annotations struct {
		List []struct{ Expr string }
	}
}

type panel struct {
	ID          int
	Type, Title string
	Datasource  source
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct {
		RefID, Expr, LegendFormat string
		Datasource                source
	}
}

type source struct{ Type, UID string }

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	testkit.Must(t, json.Unmarshal([]byte(read(t, dashboardFile)), &d))
	return d
}

// expressions returns all of a dashboard.
func (d dashboard) expressions() (all []string) {
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all = append(all, target.Expr)
		}
	}
	for _, a := range d.Annotations.List {
		all = append(all, a.Expr)
	}
	return all
}

// TestEachAlertHasARunbook in docs/runbook.md, and each runbook an alert.
func TestEachAlertHasARunbook(t *testing.T) {
	rules := read(t, rulesFile)
	_, page, found := strings.Cut(read(t, runbook), "\n## Alerts\n")
	if !found {
		t.Fatalf("%s has no section Alerts", runbook)
	}
	page, _, _ = strings.Cut(page, "\n## ")
	headings := matches(`(?m)^### (\w+)$`, page)
	names := alerts(t)
	for _, name := range names {
		if !slices.Contains(headings, name) {
			t.Errorf("%s has no heading %s", runbook, name)
		}
		if want := "runbook: docs/runbook.md#" + strings.ToLower(name) + "\n"; strings.Count(rules, want) != 1 {
			t.Errorf("%s has no %q, or several", rulesFile, want)
		}
	}
	for _, heading := range headings {
		if !slices.Contains(names, heading) {
			t.Errorf("%s has a heading %s, which is no alert", runbook, heading)
		}
	}
}

// TestEachAlertHasBothTests: one where it fires, and one where it does not.
func TestEachAlertHasBothTests(t *testing.T) {
	text := read(t, rulesTestFile)
	fires := matches(`(?m)^        alertname: (\w+)\n        exp_alerts:\n          - exp_labels: `, text)
	quiet := matches(`(?m)alertname: (\w+), exp_alerts: \[\]\}$`, text)
	for _, name := range alerts(t) {
		if !slices.Contains(fires, name) || !slices.Contains(quiet, name) {
			t.Errorf("%s: got a test where it fires: %v, and where it does not: %v, want both",
				name, slices.Contains(fires, name), slices.Contains(quiet, name))
		}
	}
}

func TestTheDashboardCanBeImported(t *testing.T) {
	d := readDashboard(t)
	if d.UID != "tagbus" || d.Title != "tagbus" || d.SchemaVersion < 36 {
		t.Errorf("got uid %q, title %q, schema %d, want tagbus, tagbus and a version with data sources as objects (36)", d.UID, d.Title, d.SchemaVersion)
	}
	chosen := source{"prometheus", "${datasource}"}
	var variables []string
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
		if v.Type == "query" && v.Datasource != chosen {
			t.Errorf("variable %s: got data source %v, want the chosen one", v.Name, v.Datasource)
		}
	}
	if want := []string{"datasource", "job", "instance", "name", "host"}; !slices.Equal(variables, want) {
		t.Errorf("got variables %q, want %q", variables, want)
	}
	var rows []string
	taken := make(map[[2]int]string)
	ids := make(map[int]bool)
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("panel %q: its id %d is taken", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("panel %q is over %q, or out of the 24 columns", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			rows = append(rows, p.Title)
			continue
		}
		if p.Datasource != chosen || len(p.Targets) == 0 {
			t.Errorf("panel %q: got data source %v and %d queries, want the chosen one and some", p.Title, p.Datasource, len(p.Targets))
		}
		refs := make(map[string]bool)
		for _, target := range p.Targets {
			if refs[target.RefID] || target.Datasource != chosen || target.Expr == "" {
				t.Errorf("panel %q: query %s: want a name of its own, the chosen data source and an expression", p.Title, target.RefID)
			}
			refs[target.RefID] = true
		}
	}
	want := []string{
		"Slow peers", "What was lost?", "Throughput", "Latency (publisher --stamp, subscriber --verify)",
		"Pools and caches", "Peers",
	}
	if !slices.Equal(rows, want) {
		t.Errorf("got rows %q, want %q", rows, want)
	}
}
