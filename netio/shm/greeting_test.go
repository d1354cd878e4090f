// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"errors"
	"testing"

	"tagbus/netio/shm"
)

// TestGreeting_ofAnotherRunOfTheSystem is refused, where both sides can tell (ProcSubset=pid of
// systemd hides it, and so does a chroot).
func TestGreeting_ofAnotherRunOfTheSystem(t *testing.T) {
	unknown, one, other := [16]byte{}, [16]byte{1}, [16]byte{15: 1}
	tests := []struct {
		name      string
		own, peer [16]byte
		want      error
	}{
		{"the same", one, one, nil},
		{"another", one, other, shm.ErrHandshake},
		{"the peer cannot tell", one, unknown, nil},
		{"this side cannot tell", unknown, one, nil},
		{"no side can tell", unknown, unknown, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			shm.SetBootID(t, tt.peer)
			said := shm.NewPeer().Greeting(0)
			shm.SetBootID(t, tt.own)
			if _, err := shm.ParseGreeting(said); !errors.Is(err, tt.want) {
				t.Errorf("got error %v, want %v", err, tt.want)
			}
		})
	}
}
