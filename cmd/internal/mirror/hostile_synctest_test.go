// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"fmt"
	"testing"

	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
	"tagbus/internal/testkit"
)

// A source that lies takes nothing from the destination that others have announced there, and
// makes nothing in it but copies that say so.
func TestAHostileSource(t *testing.T) {
	bubble(t, func(t *testing.T, a, b *memory.Directory) {
		honest := announce(t, b, native("p", 1))
		r := begin("m", a, b)
		squatter := announce(t, a, native("p", 7)) // an instance of the destination
		for _, mark := range []string{"m", "n", "p"} {
			marked := native("copy-"+mark, 2)
			marked.Mirror = mark
			announce(t, a, marked) // a copy, as it says
		}
		announce(t, a, native("q", 3))
		want(t, "beside what is there", b, "p 0x0000000000000001 ", "q 0x0000000000000003 m")
		for i := range 200 { // it changes as fast as it can
			testkit.Must(t, squatter.Update(native("p", 8, 9)))
			e := native("p", 7)
			if i%2 == 0 {
				e.Mirror = "m"
			}
			testkit.Must(t, squatter.Update(e))
		}
		want(t, "after many changes", b, "p 0x0000000000000001 ", "q 0x0000000000000003 m")
		a.Expire("p", directory.ErrExpired)
		want(t, "when the lie is gone", b, "p 0x0000000000000001 ", "q 0x0000000000000003 m")
		if err := honest.Update(native("p", 1, 2)); err != nil {
			t.Errorf("its owner: got %v, want to update it", err)
		}
		if err := r.end(); err != nil {
			t.Errorf("got %v at the end, want nil", err)
		}
		want(t, "after the end", b, "p 0x0000000000000001-0x0000000000000002 ")
	})
}

// A ring of mirrors copies each entry once into the next directory, and no copy of it further.
func TestARingOfMirrors(t *testing.T) {
	bubble(t, func(t *testing.T, a, b *memory.Directory) {
		c := memory.New()
		ring := []*memory.Directory{a, b, c}
		var running []*running
		for i, from := range ring {
			running = append(running, begin(fmt.Sprintf("m%d", i), from, ring[(i+1)%len(ring)]))
		}
		p := announce(t, a, native("p", 1))
		want(t, "beside it", b, "p 0x0000000000000001 m0")
		want(t, "two further", c)
		want(t, "where it is", a, "p 0x0000000000000001 ")
		testkit.Must(t, p.Withdraw())
		want(t, "when it is withdrawn", b)
		for _, r := range running {
			if err := r.end(); err != nil {
				t.Error(err)
			}
		}
		_ = c.Close() // that of memory does not fail
	})
}
