// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mutual_test

import (
	"slices"
	"testing"
	"time"

	"tagbus/netio/internal/mutual"
)

// TestRation_boundsHandshakesThatFail: what fails may use a sixteenth of the processors over time, and
// what succeeds any.
func TestRation_boundsHandshakesThatFail(t *testing.T) {
	now := time.Unix(0, 0)
	r := mutual.NewRation(16, func() time.Time { return now })
	if got := r.Workers(); got != 4 {
		t.Errorf("workers: got %d of 16 processors, want a quarter", got)
	}
	if got := mutual.NewRation(1, time.Now).Workers(); got != 1 {
		t.Errorf("workers: got %d of one processor, want 1", got)
	}
	const each = time.Millisecond
	begin := func() (n int) { // as many as may
		for ; r.Wait() == 0; n++ {
			r.Pay(each)
		}
		return n
	}
	if got := begin(); got != 500 {
		t.Errorf("at first: got %d handshakes of %v, want half a second of a processor", got, each)
	}
	failed := 0
	for range 1000 {
		now = now.Add(10 * time.Millisecond)
		failed += begin()
	}
	if failed < 9_900 || failed > 10_100 {
		t.Errorf("in 10 s: got %d handshakes of %v, want one processor", failed, each)
	}
	wait := r.Wait()
	if wait <= 0 || wait > 10*time.Millisecond {
		t.Errorf("wait: got %v, want what the debt takes", wait)
	}
	now = now.Add(wait)
	if got := r.Wait(); got != 0 {
		t.Errorf("behind the wait: got %v more, want none", got)
	}
	for range 10_000 { // they succeed
		if got := r.Wait(); got != 0 {
			t.Fatalf("others succeed: got a wait of %v, want none", got)
		}
		r.Pay(each / 10)
		r.Pay(-each / 10)
	}
	now = now.Add(time.Hour)
	if got := begin(); got != 500 {
		t.Errorf("after an hour: got %d handshakes, want no more than at first", got)
	}
}

// TestRation_hasNoLongDebt: whatever handshakes have cost, others wait for a short time.
func TestRation_hasNoLongDebt(t *testing.T) {
	now := time.Unix(0, 0)
	r := mutual.NewRation(2, func() time.Time { return now })
	for range 64 {
		r.Pay(20 * time.Millisecond)
	}
	if got := r.Wait(); got <= 0 || got > 501*time.Millisecond {
		t.Errorf("got a wait of %v, want half a second", got)
	}
}

// TestRation_countsWhatIsUnderWay, which has not been paid.
func TestRation_countsWhatIsUnderWay(t *testing.T) {
	now := time.Unix(0, 0)
	r := mutual.NewRation(2, func() time.Time { return now })
	begun := 0
	for r.WaitBeside(begun) == 0 && begun < 64 {
		begun++
	}
	if begun != 32 {
		t.Errorf("got %d handshakes at once of two processors, want 32", begun)
	}
	if got := r.WaitBeside(begun); got <= 0 || got > 100*time.Millisecond {
		t.Errorf("got a wait of %v, want that for one handshake", got)
	}
}

// TestLine_takesTurns by network, then by address, then in order.
func TestLine_takesTurns(t *testing.T) {
	var l mutual.Line
	for _, remote := range []string{
		"10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.1",
		"2001:db8:0:1::1", "2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:1::3",
		"::ffff:10.0.0.1", "10.0.0.2", "fe80::1%eth0",
	} {
		l.Add(remote)
	}
	l.Remove(2)
	var got []int
	for at := l.Next(); at >= 0; at = l.Next() {
		got = append(got, at)
	}
	if want := []int{0, 4, 9, 10, 1, 6, 3, 7, 8, 5}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := l.Networks(); got != 0 {
		t.Errorf("networks of an empty line: got %d, want none", got)
	}
}
