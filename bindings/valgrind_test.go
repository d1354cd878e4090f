// SPDX-License-Identifier: Apache-2.0

package bindings_test

import (
	"testing"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/clib"
)

// TestExamples_valgrind: valgrind has nothing to say of the examples in C and C++, nor of the library that they use.
func TestExamples_valgrind(t *testing.T) {
	if !testkit.All() {
		t.Skip("without TAGBUS_TESTS=all")
	}
	words, env := clib.Valgrind(t)
	lib := clib.Build(t)
	var both []language
	for _, l := range []language{compiled(t, lib, "c", "gcc", "-std=c11"), compiled(t, lib, "cpp", "g++", "-std=c++17")} {
		start := l.start
		l.start = func(example string) []string { return append(words[:len(words):len(words)], start(example)...) }
		l.env = env
		both = append(both, l)
	}
	for i, l := range both {
		t.Run(l.name, func(t *testing.T) { converse(t, l, both[1-i], folder(t), "", 0) })
	}
}
