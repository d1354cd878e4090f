// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestStrangers_noUserKeepsOutAnother, with as many connections as it likes, or with as many users as the
// system gives it.
func TestStrangers_noUserKeepsOutAnother(t *testing.T) {
	const daq, other = 1000, 1001
	for _, test := range []struct {
		name  string
		users func(i int) uint32 // of the i-th of 1,000 strangers
	}{
		{"one user", func(int) uint32 { return other }},
		{"a user for each", func(i int) uint32 { return 100_000 + uint32(i) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			var all strangers
			add := func(user uint32) {
				all.add(&endpoint{credentials: unix.Ucred{Uid: user}})
			}
			for range 20 {
				add(daq)
			}
			for i := range 1000 {
				add(test.users(i))
			}
			for range 980 {
				e := all.first()
				if e.credentials.Uid == daq {
					t.Fatalf("displaced: one of 20 of user %d, beside %d of others", daq, all.Len()-20)
				}
				all.remove(e)
			}
			for all.Len() > 0 {
				all.remove(all.first())
			}
			if all.first() != nil || len(all.of)+len(all.group) > 0 {
				t.Errorf("in the end: got %v and %v, want none", all.of, all.group)
			}
		})
	}
}
