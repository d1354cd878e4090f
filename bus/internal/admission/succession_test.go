// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"slices"
	"testing"

	"tagbus/bus/internal/admission"
)

func TestSuccession(t *testing.T) {
	var s admission.Succession[string]
	var begun []string
	enter := func(c, want string) {
		t.Helper()
		if old := s.Enter("peer", c, func() { begun = append(begun, c) }); old != want {
			t.Errorf("%s enters: got %q before it, want %q", c, old, want)
		}
	}
	leave := func(c string, want ...string) {
		t.Helper()
		begun = nil
		if s.Leave("peer", c); !slices.Equal(begun, want) {
			t.Errorf("%s leaves: got %v, want %v", c, begun, want)
		}
	}
	newest := func(want string) {
		t.Helper()
		if got := s.Newest("peer"); got != want {
			t.Errorf("got %q as the newest, want %q", got, want)
		}
	}
	leave("stranger")
	enter("a", "")
	if s.Enter("other", "x", nil) != "" || s.Newest("other") != "x" {
		t.Error("peers do not have connections of their own")
	}
	newest("a")
	enter("b", "a") // waits for a
	enter("c", "b") // in the place of b, and waits for a, too
	newest("c")
	leave("b")
	leave("a", "c")
	newest("c")
	leave("a") // once more
	enter("d", "c")
	leave("d") // while it waits: the next one has to wait for c as well
	newest("c")
	enter("e", "c")
	leave("c", "e")
	newest("e")
	leave("e")
	newest("")
	enter("f", "")
	leave("f")
	s.Leave("other", "x")
	if s.Newest("other") != "" {
		t.Error("a connection that has left is the newest")
	}
}
