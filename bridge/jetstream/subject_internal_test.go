// SPDX-License-Identifier: Apache-2.0

package jetstream

import (
	"testing"

	"tagbus/tags"

	"tagbus/bridge/durable"
)

// An internal test: what maps subjects is seen in servers only, and hostile names are easier here.

// FuzzSubjects: each key has a subject that is legal, and that no other key has.
func FuzzSubjects(f *testing.F) {
	f.Add(uint64(1), "ALICE")
	f.Add(uint64(1<<63), "a.b *>=\xff$")
	s, err := parseSubjects("a.{instance}.b.{tag}")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, tag uint64, instance string) {
		key := durable.Key{Tag: tags.Tag(tag), Instance: instance}
		subject := s.of(key)
		if got, ok := s.key(subject); instance != "" && (!ok || got != key) {
			t.Errorf("%q: got %v, %t, want %v", subject, got, ok, key)
		}
		if instance != "" && !covers(s.all(), subject) {
			t.Errorf("%q is not in %q", subject, s.all())
		}
	})
}

func TestCovers(t *testing.T) {
	for _, test := range []struct {
		wide, subject string
		want          bool
	}{
		{"a.*.*", "a.*.*", true},
		{"a.>", "a.*.*", true},
		{">", "a.*.*", true},
		{"a.*.x", "a.*.*", false},
		{"a.*", "a.*.*", false},
		{"a.*.*.*", "a.*.*", false},
		{"b.>", "a.*.*", false},
		{"a.*.*.>", "a.*.*", false},
	} {
		if got := covers(test.wide, test.subject); got != test.want {
			t.Errorf("%s of %s: got %t, want %t", test.wide, test.subject, got, test.want)
		}
	}
}

// TestSubjects_filters asks for few tags one by one.
func TestSubjects_filters(t *testing.T) {
	s, _ := parseSubjects("a.{tag}.{instance}")
	if got := s.filters(tags.Of(1, 2)); len(got) != 2 || got[1] != "a.0000000000000002.*" {
		t.Errorf("got %q", got)
	}
	for _, set := range []tags.Set{tags.Everything(), {}, tags.Match(0, 1)} {
		if got := s.filters(set); len(got) != 1 || got[0] != "a.*.*" {
			t.Errorf("%v: got %q", set, got)
		}
	}
}
