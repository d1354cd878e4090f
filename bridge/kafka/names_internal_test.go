// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"testing"

	"tagbus/tags"
)

// An internal test: names of topics come from brokers, and hostile ones are easier here.

// FuzzNames: each tag has a name that no tags beside those of its span have.
func FuzzNames(f *testing.F) {
	f.Add(uint64(0x123456789abcdef0), "a-1234")
	f.Add(uint64(1<<63), "a-+234")
	f.Add(uint64(0), "a-00000000000000001.12")
	var all []names
	for _, pattern := range []string{"a-{tag>>48}", "{tag}", "{tag>>56}.{tag>>48}-x", "{tag>>8}{tag>>60}"} {
		n, err := parseNames(pattern)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, n)
	}
	f.Fuzz(func(t *testing.T, tag uint64, name string) {
		for _, n := range all {
			own := n.of(tags.Tag(tag))
			first, last, ok := n.span(own)
			if !ok || first > tags.Tag(tag) || last < tags.Tag(tag) || n.of(first) != own || n.of(last) != own {
				t.Errorf("%s: got tags %v to %v, %t, of the name %q of %x", n.text, first, last, ok, own, tag)
			}
			if first, last, ok := n.span(name); ok && (n.of(first) != name || n.of(last) != name) {
				t.Errorf("%s: got tags %v to %v of %q, which they do not have", n.text, first, last, name)
			}
		}
	})
}
