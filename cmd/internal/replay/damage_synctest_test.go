// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/recording"
)

// TestReplayOfFilesThatAreDamagedMeanwhile: what the look has read, and cannot be read when it is to be published, is said and counted, as are
// passes that are not played.
func TestReplayOfFilesThatAreDamagedMeanwhile(t *testing.T) {
	var all []sample
	for range 40 {
		all = append(all, sample{0, 5, 0, strings.Repeat("x", 100)})
	}
	for _, test := range []struct {
		name, line string
		before     func(t *testing.T, file string) // the look
		between    func(t *testing.T, file string) // the look and the first message
		passes     int
		broken     int
		said       []string
	}{
		{"a block", "--as-fast-as-possible", nil, damage, 1, 1, []string{"what is behind that block is published", "not all of the recording: 1 block cannot be read"}},
		{"a block, in each pass", "--as-fast-as-possible --loop=3", nil, damage, 3, 1, []string{"not all of the recording: 1 block cannot be read"}},
		{"a block that was known", "--as-fast-as-possible --loop=3", damage, nil, 3, 1, []string{"not all of the recording: 1 block cannot be read"}},
		{"a block, strictly", "--as-fast-as-possible --strict", nil, damage, 0, 1, []string{"block 2 at offset"}},
		{"all", "--as-fast-as-possible --loop=3", nil, cutOff, 1, 4, []string{"cannot be read", "it was played 1 time, and not 3 times"}},
		{"all, without end", "--as-fast-as-possible --loop", nil, cutOff, 1, 4, []string{"cannot be read", "it was played 1 time, and not without end"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := create(t, "r.tbr", recording.Config{BlockBytes: 1000}).add(alice, all...).close()
			if test.before != nil {
				test.before(t, file)
			}
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, test.line, "5", file)
				open := b.run.open
				b.run.open = func(cfg bus.PublisherConfig) (*bus.Publisher, error) {
					if test.between != nil {
						test.between(t, file)
					}
					return open(cfg)
				}
				code := b.play(t.Context())
				if s := b.run.summary(); code != 1 || s.Passes != test.passes || s.Recorded.Broken != test.broken || s.Recorded.Whole {
					t.Errorf("got status %d and %+v, want 1, %d passes and %d broken blocks", code, s, test.passes, test.broken)
				}
				for _, want := range test.said {
					if n := strings.Count(b.said(), want); n == 0 {
						t.Errorf("got %s\nwant %s", b.said(), want)
					}
				}
				if n := strings.Count(b.said(), "what is behind that block is published"); n > test.broken {
					t.Errorf("got %s\nwant each damage once", b.said())
				}
			})
		})
	}
}

// cutOff leaves the header of a file alone.
func cutOff(t *testing.T, file string) {
	t.Helper()
	testkit.Must(t, os.Truncate(file, 500))
}
