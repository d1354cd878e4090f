// SPDX-License-Identifier: Apache-2.0

package rec_test

import (
	"os"
	"testing"

	"tagbus/cmd/internal/rec/rectest"
)

// TestNothingOfWhatWasAskedFor has one rule for all commands: they say what there is instead, and end with status 1.
func TestNothingOfWhatWasAskedFor(t *testing.T) {
	b := newBed(t)
	b.record("a.tbr", header(1), simple()...)
	b.record("empty.tbr", header(2), stop(0))
	const (
		tags      = "no message has a tag of --tags 0x9: the nearest that were recorded are 0x3, 0x2, 0x1\n"
		ofBob     = "no message has a tag of --tags 0x1: the nearest that were recorded are 0x3\n"
		publisher = "no message is from --publisher carol: those of the recording are alice, bob\n"
		late      = "no message is from 2026-11-24T12:00:10Z on (--from): those that are there are of about 2026-11-24T12:00:00Z to 2026-11-24T12:00:01Z\n"
		between   = "no message is from 2026-11-24T12:00:00Z on (--from) and before 2026-11-24T12:00:00.1Z (--to): those that are there are of about 2026-11-24T12:00:00.5Z to 2026-11-24T12:00:00.69Z\n"
	)
	for _, test := range []struct{ flags, want string }{
		{"--tags 9", tags},
		{"--tags 1 --publisher bob", ofBob},
		{"--publisher carol", publisher},
		{"--from +10s", late},
		{"--tags 3 --from +0s --to +100ms", between},
	} {
		b.says("cat a.tbr "+test.flags, 1, test.want)
		b.says("cat a.tbr --no-events --print json "+test.flags, 1, test.want)
		b.says("cut a.tbr --out b.tbr "+test.flags, 1, test.want, "b.tbr: 0 messages")
		if r := rectest.Verify(b, b.path("b.tbr")); !r.Whole() {
			t.Errorf("cut %s: got %v, want it whole", test.flags, r)
		}
		must(t, os.Remove(b.path("b.tbr")))
		if test.want != late && test.want != between {
			b.says("info a.tbr "+test.flags, 1, test.want)
		}
	}
	b.says("cat empty.tbr --tags 1", 1, "no messages are in the files\n")
	b.says("cat empty.tbr", 0)
	b.says("info empty.tbr", 0)
	b.says("cat a.tbr --print none --tags 9", 0) // no messages were asked for
}
