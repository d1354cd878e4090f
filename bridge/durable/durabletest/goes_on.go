// SPDX-License-Identifier: Apache-2.0

package durabletest

import (
	"errors"
	"maps"
	"slices"

	"tagbus/bridge/durable"
)

// goesOn reads behind the last record of each part.
func (b *bed) goesOn() {
	read := func(behind map[string]durable.Position) (got []string, at map[string]durable.Position) {
		b.Helper()
		at = maps.Clone(behind)
		for e, err := range b.log.Read(b.Context(), durable.Query{Start: durable.Start{Behind: behind}}) {
			if err != nil {
				b.Errorf("got %v, want no error", err)
				break
			}
			got, at[e.Part] = append(got, string(e.Data)), e.Position
		}
		slices.Sort(got)
		return got, at
	}
	first := b.must(one, 0, "first")
	b.must(two, 0, "2")
	got, at := read(map[string]durable.Position{})
	if !slices.Equal(got, []string{"2", "first"}) {
		b.Errorf("got %q, want all", got)
	}
	if got, _ = read(at); len(got) > 0 {
		b.Errorf("got %q behind all, want nothing", got)
	}
	b.must(one, first, "second")
	b.must(other, 0, "3")
	if got, at = read(at); !slices.Equal(got, []string{"3", "second"}) {
		b.Errorf("got %q, want what came after", got)
	}
	for part := range at {
		at[part] += 1000
	}
	for e, err := range b.log.Read(b.Context(), durable.Query{Start: durable.Start{Behind: at}}) {
		if !errors.Is(err, durable.ErrRefused) {
			b.Errorf("got %q, %v behind a record that the log has never had, want ErrRefused", e.Data, err)
		}
		return
	}
	b.Error("got nothing behind a record that the log has never had, want ErrRefused")
}
