// SPDX-License-Identifier: Apache-2.0

package backoff_test

import (
	"fmt"
	"testing"
	"time"

	"tagbus/internal/backoff"
)

// TestReminders_countWhatIsNotSaid: each thing is said at once, and later with how often it came.
func TestReminders_countWhatIsNotSaid(t *testing.T) {
	var r backoff.Reminders[int]
	now := time.Now()
	for _, test := range []struct {
		key   int
		text  string
		after time.Duration
		times uint64 // 0: not said
	}{
		{1, "a", 0, 1},
		{1, "a", time.Second, 0},
		{1, "a", time.Second, 0},
		{1, "b", 0, 1},
		{2, "a", 0, 1},
		{1, "a", backoff.First, 3},
		{1, "b", 0, 1},
		{1, "a", time.Second, 0},
	} {
		now = now.Add(test.after)
		if times, due := r.Due(now, test.key, test.text); times != test.times || due != (test.times > 0) {
			t.Errorf("%d %s: got %d times, said %v; want %d", test.key, test.text, times, due, test.times)
		}
	}
}

// TestReminders_areBounded: of many texts some are said as one, and of many keys all again.
func TestReminders_areBounded(t *testing.T) {
	var r backoff.Reminders[int]
	now := time.Now()
	said := 0
	say := func(key int, text string) {
		if _, due := r.Due(now, key, text); due {
			said++
		}
	}
	for i := range 1000 {
		say(0, fmt.Sprint(i))
	}
	if said != backoff.MaxTexts+1 {
		t.Errorf("got %d texts said, want %d and one for the others", said, backoff.MaxTexts)
	}
	said = 0
	for key := range backoff.MaxKeys {
		say(key, "0")
	}
	if said != backoff.MaxKeys-1 {
		t.Errorf("got %d keys said, want all but one that was said", said)
	}
	say(backoff.MaxKeys, "0") // one too many
	for key := range 3 {
		say(key, "0")
	}
	if said != backoff.MaxKeys+3 {
		t.Errorf("got %d said, want those that are forgotten once more", said)
	}
}
