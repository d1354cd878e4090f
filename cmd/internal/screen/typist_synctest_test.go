// SPDX-License-Identifier: Apache-2.0

//go:build linux

package screen_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/cmd/internal/screen"
)

// TestAnEscapeThatStandsAlone: the rest of a sequence may come in another piece, but not
// later than a terminal sends it.
func TestAnEscapeThatStandsAlone(t *testing.T) {
	tests := []struct {
		name string
		gap  time.Duration
		want []screen.Key
	}{
		{"a sequence in two pieces", 49 * time.Millisecond, []screen.Key{screen.Up}},
		{"two keys", 51 * time.Millisecond, []screen.Key{screen.Escape, '[', 'A'}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bytes := make(chan []byte)
				var got []screen.Key
				go screen.Type(bytes, nil, func(k screen.Key) { got = append(got, k) })
				bytes <- []byte("\x1b")
				time.Sleep(test.gap)
				bytes <- []byte("[A")
				time.Sleep(time.Second)
				close(bytes)
				synctest.Wait()
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("keys (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestTypingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan struct{})
		ended := false
		go func() {
			screen.Type(make(chan []byte), done, func(screen.Key) {})
			ended = true
		}()
		close(done)
		synctest.Wait()
		if !ended {
			t.Error("got a Type that goes on, want its end")
		}
	})
}
