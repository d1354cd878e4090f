// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"testing"

	"tagbus/internal/testkit"
	"tagbus/tags"
)

func TestNearest(t *testing.T) {
	set, err := tags.ParseSet("0x20-0x2f,0x40,0x100&0xffff")
	testkit.Must(t, err)
	got := nearest(set, []tags.Tag{0x1, 0x30, 0x3f, 0x1e, 0xfd, 0x30, 0x60})
	want := []tags.Tag{0x30, 0x3f, 0x1e, 0xfd, 0x1, 0x60}
	for i, w := range want {
		if len(got) != len(want) || got[i] != w.String() {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}
