// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"slices"
	"testing"

	"tagbus/bus/internal/ledger"
	"tagbus/subscription"
	"tagbus/tags"
)

// A report is lost with its connection: the next one has its tags, too.
func TestTagsAreToldAgainOnTheNextConnection(t *testing.T) {
	var d ledger.Dropping
	check := func(when string, messages uint64, want ...tags.Tag) {
		t.Helper()
		told := false
		d.News(func(cause subscription.Cause, n uint64, named []tags.Tag) {
			told = true
			if cause != ledger.Queue || n != messages || !slices.Equal(named, want) {
				t.Errorf("%s: got %d of %v for %v, want %d of %v", when, n, named, cause, messages, want)
			}
		})
		if told != (messages > 0) {
			t.Errorf("%s: got news %v, want %d messages", when, told, messages)
		}
	}
	d.Add(ledger.Queue, 1, 2)
	d.Add(ledger.Queue, 2, 1)
	check("the first", 3, 1, 2)
	d.Add(ledger.Queue, 3, 4)
	check("more", 7, 3)
	check("no more", 0)
	d.Disconnected()
	d.Add(ledger.Queue, 2, 1)
	check("on the next connection", 8, 1, 2, 3)
	check("nothing there yet", 0)
	d.Add(ledger.Queue, 5, 1)
	check("one there", 9, 5)
	d.Disconnected()
	d.Disconnected()
	check("on the one after", 9, 1, 2, 3, 5)
}

// However many tags lose on however many connections, a list fits its message.
func TestTagsThatAreToldAgainAreBounded(t *testing.T) {
	var d ledger.Dropping
	tag, most := tags.Tag(0), 0
	for range 20 {
		for range 5 {
			for range 1000 {
				tag++
				d.Add(ledger.Panic, tag, 1)
			}
			d.News(func(_ subscription.Cause, _ uint64, named []tags.Tag) { most = max(most, len(named)) })
		}
		d.Disconnected()
	}
	if limit := subscription.MaxControlBytes / subscription.MaxPositionBytes; most > limit || most < limit/2 {
		t.Errorf("a list has %d tags, want about %d at most", most, limit)
	}
}
