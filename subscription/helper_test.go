// SPDX-License-Identifier: Apache-2.0

package subscription_test

import (
	"encoding/hex"
	"runtime"
	"strings"
	"testing"

	"tagbus/tags"
)

// unhex reads hex in which spaces separate what belongs together. Text between
// quotes stands for its bytes.
func unhex(tb testing.TB, s string) []byte {
	tb.Helper()
	var data []byte
	for i, part := range strings.Split(s, "'") {
		if i%2 == 1 {
			data = append(data, part...)
			continue
		}
		b, err := hex.DecodeString(strings.ReplaceAll(part, " ", ""))
		if err != nil {
			tb.Fatalf("%q: %v", s, err)
		}
		data = append(data, b...)
	}
	return data
}

func mustParseSet(tb testing.TB, s string) tags.Set {
	tb.Helper()
	set, err := tags.ParseSet(s)
	if err != nil {
		tb.Fatal(err)
	}
	return set
}

// allocated returns the bytes that f allocates, and a little that others do.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
