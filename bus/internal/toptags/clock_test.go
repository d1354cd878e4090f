// SPDX-License-Identifier: Apache-2.0

package toptags_test

import (
	"testing"
	"time"
	"unsafe"

	"tagbus/bus/internal/toptags"
)

// setBack returns a time as time.Now returns it after the clock on the wall was set back.
// No function of package time makes one.
func setBack(t *testing.T, now time.Time, by time.Duration) time.Time {
	t.Helper()
	moved := now
	wall := (*uint64)(unsafe.Pointer(&moved)) // its first field: seconds from bit 30 on
	*wall -= uint64(by/time.Second) << 30
	if !moved.Round(0).Equal(now.Round(0).Add(-by)) || moved.Sub(now) != 0 {
		t.Fatal("package time has another form of a time")
	}
	return moved
}

// Rates go on when the clock on the wall is set back. In a bubble of synctest there is no
// other clock.
func TestTheClockIsSetBack(t *testing.T) {
	s := &source{messages: make([]uint64, 10)}
	w := toptags.New(s)
	now := time.Now()
	w.Busiest(now, 1)
	now = setBack(t, now, time.Hour)
	for range 3 {
		now = now.Add(time.Second)
		s.messages[5] += 10
		if x := w.Busiest(now, 1)[0]; x.Tag != 5 || x.MessageRate == nil || *x.MessageRate != 10 {
			t.Errorf("got %+v, want tag 5 at 10 a second", x)
		}
	}
}
