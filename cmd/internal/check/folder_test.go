// SPDX-License-Identifier: Apache-2.0

package check

import (
	"errors"
	"testing"
	"time"
)

// A folder that is slow once is not said to be slow: a check of a healthy bus ended with 1 while the disk wrote what others had left.
func TestOnceMore(t *testing.T) {
	const quick, slow = time.Millisecond, 2 * slowFolder
	broken := errors.New("no space")
	for _, test := range []struct {
		name  string
		looks []folderSeen
		took  time.Duration
		calls int
		write error
	}{
		{"quick", []folderSeen{{took: quick}}, quick, 1, nil},
		{"slow once", []folderSeen{{took: slow}, {took: quick}}, quick, 2, nil},
		{"slow", []folderSeen{{took: slow + 1}, {took: slow}}, slow, 2, nil},
		{"slower each time", []folderSeen{{took: slow}, {took: slow + 1}}, slow, 2, nil},
		{"slow, and then full", []folderSeen{{took: slow}, {took: quick, write: broken}}, quick, 2, broken},
		{"too slow for another look", []folderSeen{{took: folderPatience / 2}}, folderPatience / 2, 1, nil},
		{"full", []folderSeen{{took: slow, write: broken}}, slow, 1, broken},
	} {
		calls := 0
		s := onceMore(func() folderSeen { calls++; return test.looks[calls-1] })
		if s.took != test.took || calls != test.calls || !errors.Is(s.write, test.write) {
			t.Errorf("%s: got %v, %v and %d looks; want %v, %v and %d", test.name, s.took, s.write, calls, test.took, test.write, test.calls)
		}
	}
}
