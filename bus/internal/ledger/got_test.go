// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"testing"

	"tagbus/bus/internal/ledger"
)

// A publisher is told the total of a lane when it has acknowledged it, and then when
// there is more.
func TestGot(t *testing.T) {
	var got ledger.Got
	check := func(when string, call func() (uint64, bool), total uint64, tell bool) {
		t.Helper()
		if n, now := call(); n != total || now != tell {
			t.Errorf("%s: got %d, %v, want %d, %v", when, n, now, total, tell)
		}
	}
	check("before an acknowledgement", got.News, 0, false)
	check("the first", got.Begin, 0, true)
	got.Add(3)
	check("another acknowledgement", got.Begin, 3, false)
	check("some", got.News, 3, true)
	check("no more", got.News, 3, false)
	got.Add(2)
	got.Disconnected()
	check("without a connection", got.News, 5, false)
	check("on the next connection", got.Begin, 5, true)
	check("nothing there yet", got.News, 5, false)
	got.Add(1)
	check("one there", got.News, 6, true)
}
