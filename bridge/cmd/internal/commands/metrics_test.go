// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bridge/out"
)

// TestTheReferenceListsTheMetrics keeps the table of the bridge in docs/reference.md complete.
func TestTheReferenceListsTheMetrics(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(tagbus_bridge_\\w+)`").FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, row[1])
	}
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(newCollector(func() out.Stats { return out.Stats{Away: true} })); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var served []string
	for _, f := range families {
		served = append(served, f.GetName())
	}
	slices.Sort(listed)
	slices.Sort(served)
	if !slices.Equal(listed, served) {
		t.Errorf("docs/reference.md lists %q, want %q", listed, served)
	}
}
