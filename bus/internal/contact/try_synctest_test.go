// SPDX-License-Identifier: Apache-2.0

package contact_test

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// step is what happens to a contact at a time after the beginning.
type step struct {
	at time.Duration
	do func(u *user)
}

// ms returns a step after so many milliseconds.
func ms(n int, do func(u *user)) step { return step{time.Duration(n) * time.Millisecond, do} }

func TestTheAddressesOfATry(t *testing.T) {
	up := func(n int) func(*user) { return func(u *user) { u.up(n) } }
	refused := func(n int) func(*user) { return func(u *user) { u.b.Refused(at(n), errAt(n)) } }
	freed := func(n int) func(*user) { return func(u *user) { u.b.Freed(at(n)) } }
	refuses := func(n int) func(*user) { return func(u *user) { u.refuses = n } }
	dial := (*user).Dial
	for _, x := range []struct {
		name      string
		addresses int
		steps     []step
		want      []string
		state     string
	}{
		{"an address that answers is alone", 3, []step{ms(0, dial), ms(249, up(1)), ms(260, (*user).Greeted)}, []string{"0 open 1"}, "ready"},
		{"a dead one costs its head start", 2, []step{ms(0, dial), ms(260, up(2)), ms(270, (*user).Greeted), ms(5000, refused(1))}, []string{"0 open 1", "250 open 2"}, "ready"},
		{"a refused one costs nothing, and the next one has its head start", 3, []step{ms(0, dial), ms(10, refused(1)), ms(1000, nil)}, []string{"0 open 1", "10 open 2", "260 open 3"}, "dialing"},
		{"one that is refused at once has no head start", 3, []step{ms(0, refuses(1)), ms(0, dial), ms(1000, nil)}, []string{"0 open 1", "0 open 2", "250 open 3"}, "dialing"},
		{"one of two is refused: the third comes at once", 4, []step{ms(0, dial), ms(300, refused(1)), ms(600, nil)}, []string{"0 open 1", "250 open 2", "300 open 3", "550 open 4"}, "dialing"},
		{"four at a time", 6, []step{ms(0, dial), ms(4000, refused(2)), ms(4100, nil), ms(5000, refused(1)), ms(6000, nil)}, []string{"0 open 1", "250 open 2", "500 open 3", "750 open 4", "4000 open 5", "5000 open 6"}, "dialing"},
		{
			"the peer's order is that of the errors", 3,
			[]step{ms(0, dial), ms(600, refused(3)), ms(700, refused(1)), ms(800, refused(2)), ms(801, nil)},
			[]string{"0 open 1", "250 open 2", "500 open 3", "800 tried, refused by 1 and refused by 2 and refused by 3, waiting"},
			"waiting",
		},
		{
			"the slower one is closed", 2,
			[]step{ms(0, dial), ms(300, up(2)), ms(310, up(1)), ms(320, (*user).Greeted), ms(330, freed(1)), ms(3000, nil)},
			[]string{"0 open 1", "250 open 2", "310 surplus 1"},
			"ready",
		},
		{
			"the slower one is refused when the connection is ready", 2,
			[]step{ms(0, dial), ms(300, up(2)), ms(310, (*user).Greeted), ms(320, refused(1)), ms(330, (*user).lose), ms(340, func(u *user) { u.Rest() })},
			[]string{"0 open 1", "250 open 2", "330 tried, <nil>, waiting"},
			"idle",
		},
		{
			"the faster one says no hello: the slower one is tried again", 2,
			[]step{ms(0, dial), ms(300, up(2)), ms(310, up(1)), ms(311, freed(1)), ms(4300, (*user).lose), ms(4310, up(1)), ms(4320, (*user).Greeted)},
			[]string{"0 open 1", "250 open 2", "310 surplus 1", "4300 open 1"},
			"ready",
		},
		{
			"the faster one fails before the slower one is gone", 2,
			[]step{ms(0, dial), ms(300, up(2)), ms(310, up(1)), ms(320, (*user).lose), ms(330, freed(1)), ms(340, refused(1)), ms(341, nil)},
			[]string{"0 open 1", "250 open 2", "310 surplus 1", "330 open 1", "340 tried, refused by 1 and 0.0.0.0:2: EOF, waiting"},
			"waiting",
		},
		{
			"the faster one fails while the slower one is being opened", 2,
			[]step{ms(0, dial), ms(300, up(2)), ms(320, (*user).lose), ms(330, up(1)), ms(340, (*user).Greeted)},
			[]string{"0 open 1", "250 open 2"},
			"ready",
		},
		{
			"the faster one fails before others have begun", 4,
			[]step{ms(0, dial), ms(300, up(2)), ms(320, (*user).lose), ms(571, nil)},
			[]string{"0 open 1", "250 open 2", "320 open 3", "570 open 4"},
			"dialing",
		},
		{
			"a slower one is refused during the hello, and named in the end", 2,
			[]step{ms(0, dial), ms(300, up(2)), ms(310, refused(1)), ms(320, (*user).lose), ms(321, nil)},
			[]string{"0 open 1", "250 open 2", "320 tried, refused by 1 and 0.0.0.0:2: EOF, waiting"},
			"waiting",
		},
		{
			"an address that is still being opened is not opened twice", 3,
			[]step{ms(0, dial), ms(300, up(2)), ms(310, (*user).Greeted), ms(320, (*user).lose), ms(330, func(u *user) { u.Rest() }), ms(400, dial), ms(500, refused(2)), ms(700, nil), ms(800, up(1))},
			[]string{"0 open 1", "250 open 2", "320 tried, <nil>, waiting", "400 open 2", "500 open 3"},
			"greeting",
		},
		{
			"an address that is still being opened ends in a try in vain", 2,
			[]step{ms(0, dial), ms(300, up(2)), ms(310, (*user).Greeted), ms(320, (*user).lose), ms(330, func(u *user) { u.Rest() }), ms(400, dial), ms(500, refused(2)), ms(900, refused(1)), ms(901, nil)},
			[]string{"0 open 1", "250 open 2", "320 tried, <nil>, waiting", "400 open 2", "900 tried, refused by 1 and refused by 2, waiting"},
			"waiting",
		},
		{
			"what comes after all is over is closed", 2,
			[]step{ms(0, dial), ms(300, up(2)), ms(310, (*user).Greeted), ms(320, func(u *user) { u.wanted = false }), ms(330, (*user).lose), ms(400, up(1)), ms(410, freed(1)), ms(3000, nil)},
			[]string{"0 open 1", "250 open 2", "330 tried, <nil>, idle", "400 surplus 1"},
			"idle",
		},
		{
			"a surplus connection ends: its address comes last, after the others' head starts", 4,
			[]step{ms(0, dial), ms(300, up(2)), ms(310, up(1)), ms(320, (*user).lose), ms(330, freed(1)), ms(2000, nil)},
			[]string{"0 open 1", "250 open 2", "310 surplus 1", "320 open 3", "570 open 4", "820 open 1"},
			"dialing",
		},
		{"another one's end says nothing", 2, []step{ms(0, dial), ms(10, freed(1)), ms(20, freed(7)), ms(30, nil)}, []string{"0 open 1"}, "dialing"},
		{
			"no connection is wanted any more: no other address is opened", 3,
			[]step{ms(0, dial), ms(100, func(u *user) { u.wanted = false }), ms(1000, nil), ms(5000, refused(1)), ms(5001, nil)},
			[]string{"0 open 1", "5000 tried, refused by 1, idle"},
			"idle",
		},
		{
			"an address that stands twice is opened once", 2,
			[]step{ms(0, func(u *user) { u.Addresses[1] = at(1) }), ms(0, dial), ms(300, refused(1)), ms(301, nil)},
			[]string{"0 open 1", "300 tried, refused by 1, waiting"},
			"waiting",
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u, begun := newBed(t).user(x.addresses), time.Now()
				u.stamp = func() string { return fmt.Sprint(time.Since(begun).Milliseconds(), " ") }
				for _, s := range x.steps {
					time.Sleep(s.at - time.Since(begun))
					synctest.Wait()
					if s.do != nil {
						u.do(func() { s.do(u) })
					}
				}
				synctest.Wait()
				u.do(func() {
					if !slices.Equal(u.got, x.want) {
						t.Errorf("got  %q, want %q", u.got, x.want)
					}
					if got := u.state(); got != x.state {
						t.Errorf("got the state %q, want %q", got, x.state)
					}
				})
			})
		})
	}
}

// With one address, the error of a connection that ends before the hello is as it is.
func TestTheErrorOfOneAddressIsBare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newBed(t).user(1)
		u.do(func() {
			u.Dial()
			u.up(1)
			u.Closed()
			u.Refused(io.EOF)
			if want := []string{"open 1", "tried, EOF, waiting"}; !slices.Equal(u.got, want) {
				t.Errorf("got %q, want %q", u.got, want)
			}
		})
	})
}
