// SPDX-License-Identifier: Apache-2.0

package jetstream

import (
	"slices"
	"testing"

	"tagbus/bridge/durable"
	"tagbus/tags"
)

// An internal test: what maps subjects is seen in servers only, and hostile names are easier here.

// FuzzSubjects: each key has a subject that is legal, and that no other key has.
func FuzzSubjects(f *testing.F) {
	f.Add(uint64(1), "ALICE")
	f.Add(uint64(1<<63), "a.b *>=\xff$")
	var all []subjects
	for _, pattern := range []string{"a.{instance}.b.{tag}", "{tag>>48}.{tag>>4}.{tag}.{instance}"} {
		s, err := parseSubjects(pattern)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, s)
	}
	f.Fuzz(func(t *testing.T, tag uint64, instance string) {
		if instance == "" {
			return
		}
		for _, s := range all {
			key := durable.Key{Tag: tags.Tag(tag), Instance: instance}
			subject := s.of(key)
			if got, ok := s.key(subject); !ok || got != key {
				t.Errorf("%q: got %v, %t, want %v", subject, got, ok, key)
			}
			if !covers(s.all(), subject) {
				t.Errorf("%q is not in %q", subject, s.all())
			}
			for _, set := range []tags.Set{tags.Of(key.Tag), tags.Match(key.Tag, 0xff)} {
				if filters := s.filters(set); !slices.ContainsFunc(filters, func(f string) bool { return covers(f, subject) }) {
					t.Errorf("%v: %q is in none of %q", set, subject, filters)
				}
			}
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

// TestSubjects_filters asks for few tags one by one, and for many by their first digits.
func TestSubjects_filters(t *testing.T) {
	page, _ := tags.Range(0x10000, 0x2ffff)
	high, _ := tags.Range(tags.MaxTag-1000, tags.MaxTag)
	for _, test := range []struct {
		pattern string
		set     tags.Set
		want    []string
	}{
		{"a.{tag}.{instance}", tags.Of(1, 2), []string{"a.0000000000000001.*", "a.0000000000000002.*"}},
		{"a.{tag}.{instance}", tags.Everything(), []string{"a.*.*"}},
		{"a.{tag}.{instance}", tags.Set{}, []string{"a.*.*"}},
		{"a.{tag}.{instance}", tags.Match(0, 1), []string{"a.*.*"}},
		{"a.{tag>>16}.{tag}.{instance}", tags.Of(0x12345), []string{"a.000000000001.0000000000012345.*"}},
		{"a.{tag>>16}.{tag}.{instance}", page, []string{"a.000000000001.*.*", "a.000000000002.*.*"}},
		{"a.{tag>>32}.{tag>>16}.{tag}.{instance}", page, []string{"a.00000000.000000000001.*.*", "a.00000000.000000000002.*.*"}},
		{"a.{tag>>60}.{tag}.{instance}", tags.Match(1<<60, 3<<60), []string{"a.1.*.*", "a.5.*.*", "a.9.*.*", "a.d.*.*"}},
		{"a.{tag>>16}.{tag}.{instance}", tags.Everything(), []string{"a.*.*.*"}},
		{"a.{tag>>16}.{tag}.{instance}", high, []string{"a.ffffffffffff.*.*"}},
	} {
		s, err := parseSubjects(test.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.filters(test.set); !slices.Equal(got, test.want) {
			t.Errorf("%s, %v: got %q, want %q", test.pattern, test.set, got, test.want)
		}
	}
}

// TestSubjects_key is one only if all parts fit together.
func TestSubjects_key(t *testing.T) {
	s, err := parseSubjects("a.{tag>>56}.{tag}.{instance}")
	if err != nil {
		t.Fatal(err)
	}
	for subject, want := range map[string]bool{
		"a.12.1200000000000034.ALICE":   true,
		"a.13.1200000000000034.ALICE":   false,
		"b.12.1200000000000034.ALICE":   false,
		"a.12.120000000000034.ALICE":    false,
		"a.12.1200000000000034.A.B":     false,
		"a.1A.1A00000000000034.ALICE":   false,
		"a.12.+200000000000034.ALICE":   false,
		"a.12.1200000000000034.":        false,
		"a.12.1200000000000034.=4":      false,
		"a.12.1200000000000034.=41":     false, // which A is written as itself
		"a.12.1200000000000034.ALICE.b": false,
	} {
		if _, ok := s.key(subject); ok != want {
			t.Errorf("%q: got %t, want %t", subject, ok, want)
		}
	}
}
