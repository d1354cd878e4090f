// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"errors"
	"os"
	"testing"

	"tagbus/netio"
	"tagbus/netio/shm"
)

func ownCredentials() netio.Credentials {
	return netio.Credentials{PID: os.Getpid(), UID: os.Getuid(), GID: os.Getgid()}
}

// FuzzReader: whatever the other side has in its segment, the reader ends with a typed
// error, or has read messages within the limit, and nothing outside of the segment.
func FuzzReader(f *testing.F) {
	f.Add([]byte{5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5}, uint64(1), uint64(0))
	f.Add([]byte{200, 0, 0, 0, 200, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, uint64(1), uint64(2))
	f.Add([]byte{200, 0, 0, 0, 200, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}, uint64(16), uint64(1))
	f.Fuzz(func(t *testing.T, ring []byte, published, final uint64) {
		const limit = 1000
		sizes, err := shm.ReadAll(ring, published, final, limit)
		if err != nil && !errors.Is(err, shm.ErrProtocol) && !errors.Is(err, netio.ErrMessageLength) {
			t.Errorf("got error %v, want %v or %v", err, shm.ErrProtocol, netio.ErrMessageLength)
		}
		for _, n := range sizes {
			if n < 1 || n > limit {
				t.Errorf("got a message of %d bytes, want 1 to %d", n, limit)
			}
		}
	})
}

// FuzzGreeting: what can be parsed is what would be sent.
func FuzzGreeting(f *testing.F) {
	f.Add(new(shm.Peer).Greeting(0))
	f.Add([]byte("tagbus"))
	f.Fuzz(func(t *testing.T, b []byte) {
		again, err := shm.ParseGreeting(b)
		if err != nil {
			if !errors.Is(err, shm.ErrHandshake) {
				t.Errorf("got error %v, want %v", err, shm.ErrHandshake)
			}
			return
		}
		if string(again[:50]) != string(b[:50]) {
			t.Errorf("greeting: got %x, want %x as it came", again[:50], b[:50])
		}
	})
}
