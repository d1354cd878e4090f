// SPDX-License-Identifier: Apache-2.0

package dialer_test

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/internal/dialer"
	"tagbus/netio"
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
		t.Run(x.name, func(t *testing.T) { play(t, x.addresses, x.steps, x.want, x.state) })
	}
}

// devices returns so many targets of devices.
func devices(n int) (all []dialer.Target) {
	for i := range n {
		all = append(all, at(600+i))
	}
	return all
}

// A peer with addresses of several backends: 101 and 102 are of one that is worse than that of 1 and 2.
func TestTheBackendsOfATry(t *testing.T) {
	refused := func(n int) func(*user) { return func(u *user) { u.b.Refused(at(n), errAt(n)) } }
	up := func(n int) func(*user) { return func(u *user) { u.up(n) } }
	elsewhere := func(n int) func(*user) {
		return func(u *user) { u.b.Refused(at(n), fmt.Errorf("%w: %w", errAt(n), netio.ErrElsewhere)) }
	}
	dial := (*user).Dial
	for _, x := range []struct {
		name  string
		steps []step
		want  []string
		state string
	}{
		{"the best one has a longer head start", []step{ms(0, dial), ms(1300, nil)}, []string{"0 open 1", "250 open 2", "1250 open 101"}, "dialing"},
		{
			"a name within the host has a still longer one",
			[]step{ms(0, func(u *user) { u.Addresses = []dialer.Target{at(501), at(1)} }), ms(0, dial), ms(5100, nil)},
			[]string{"0 open 501", "4000 open 1"},
			"dialing",
		},
		{
			"a name that is refused costs nothing",
			[]step{ms(0, func(u *user) { u.Addresses = []dialer.Target{at(501), at(1)} }), ms(0, dial), ms(1, elsewhere(501)), ms(2, nil)},
			[]string{"0 open 501", "1 open 1"},
			"dialing",
		},
		{"one that is refused costs nothing", []step{ms(0, dial), ms(10, refused(1)), ms(20, refused(2)), ms(21, nil)}, []string{"0 open 1", "10 open 2", "20 open 101"}, "dialing"},
		{
			"what worked is first among its own only",
			[]step{ms(0, dial), ms(10, refused(1)), ms(20, refused(2)), ms(300, up(102)), ms(310, refused(101)), ms(320, (*user).Greeted), ms(330, (*user).lose), ms(330, func(u *user) { u.Rest() }), ms(400, dial), ms(500, refused(1)), ms(510, refused(2)), ms(511, nil)},
			[]string{"0 open 1", "10 open 2", "20 open 101", "270 open 102", "330 tried, <nil>, waiting", "400 open 1", "500 open 2", "510 open 102"},
			"dialing",
		},
		{
			"devices are of one kind, and each try begins with the same one",
			[]step{
				ms(0, func(u *user) { u.Addresses = []dialer.Target{at(601), at(602), at(1)} }), ms(0, dial), ms(300, up(602)), ms(310, refused(601)),
				ms(320, (*user).Greeted), ms(330, (*user).lose), ms(330, func(u *user) { u.Rest() }), ms(400, dial), ms(700, refused(602)), ms(701, refused(601)), ms(702, nil),
			},
			[]string{"0 open 601", "250 open 602", "330 tried, <nil>, waiting", "400 open 601", "650 open 602", "700 open 1"},
			"dialing",
		},
		{
			"however many of the best kind are silent, the worse one has its turn, and the rest of it comes then",
			[]step{ms(0, func(u *user) { u.Addresses = append(devices(64), at(101)) }), ms(0, dial), ms(2000, refused(600)), ms(2001, nil)},
			[]string{"0 open 600", "250 open 601", "500 open 602", "750 open 603", "1750 open 101", "2000 open 604"},
			"dialing",
		},
		{
			"also where they are refused late, one after the other",
			func() []step {
				steps := []step{ms(0, func(u *user) { u.Addresses = append(devices(64), at(101)) }), ms(0, dial)}
				for n := range 9 {
					steps = append(steps, ms(200*(n+1), refused(600+n)))
				}
				return steps
			}(),
			[]string{"0 open 600", "200 open 601", "400 open 602", "600 open 603", "800 open 604", "1000 open 605", "1200 open 606", "1400 open 607", "1600 open 608", "1800 open 101"},
			"dialing",
		},
		{
			"both kinds are silent: each has four at a time, and all are tried",
			func() []step {
				steps := []step{ms(0, func(u *user) { u.Addresses = append(devices(6), at(101), at(102), at(103), at(104), at(105)) }), ms(0, dial)}
				for i, n := range []int{600, 101, 601, 102, 602, 603, 103, 104, 604, 105, 605} {
					steps = append(steps, ms(5000+i, refused(n)))
				}
				return append(steps, ms(5010, func(u *user) { u.got[len(u.got)-1] = u.got[len(u.got)-1][:len("5010 tried")] }))
			}(),
			[]string{"0 open 600", "250 open 601", "500 open 602", "750 open 603", "1750 open 101", "2000 open 102", "2250 open 103", "2500 open 104", "5000 open 604", "5002 open 605", "5003 open 105", "5010 tried"},
			"waiting",
		},
		{
			"that a peer is elsewhere is no reason beside another one",
			[]step{ms(0, dial), ms(0, elsewhere(1)), ms(0, elsewhere(2)), ms(1, refused(101)), ms(2, refused(102)), ms(3, nil)},
			[]string{"0 open 1", "0 open 2", "0 open 101", "1 open 102", "2 tried, refused by 101 and refused by 102, waiting"},
			"waiting",
		},
		{
			"that a peer is elsewhere is the reason if there is no other",
			[]step{ms(0, func(u *user) { u.Addresses = u.Addresses[:1] }), ms(0, dial), ms(1, elsewhere(1)), ms(2, nil)},
			[]string{"0 open 1", "1 tried, refused by 1: " + netio.ErrElsewhere.Error() + ", waiting"},
			"waiting",
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			first := step{0, func(u *user) { u.Addresses = []dialer.Target{at(1), at(2), at(101), at(102)} }}
			play(t, 1, append([]step{first}, x.steps...), x.want, x.state)
		})
	}
}

// Why a connection is not by a better backend.
func TestWhatWasPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newBed(t).user(0)
		u.Addresses = []dialer.Target{at(1), at(2), at(101), at(201)}
		var got []string
		u.do(func() {
			u.Dial()
			u.b.Refused(at(1), errAt(1))
		})
		time.Sleep(2 * time.Second)
		u.do(func() {
			u.up(101)
			u.Greeted()
			for _, f := range u.Passed() {
				got = append(got, fmt.Sprint(f.Target, " ", f.Err))
			}
		})
		if want := []string{"0.0.0.0:1 refused by 1", "0.0.0.0:2 no answer yet when another way was ready"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		u.do(func() {
			u.lose()
			u.Dial()
			u.up(1)
			u.Greeted()
			if len(u.Passed()) != 0 {
				t.Errorf("by the best one: got %v", u.Passed())
			}
			u.lose()
			u.Addresses = []dialer.Target{at(601), at(602), at(1)}
			u.Dial()
			u.b.Refused(at(601), errAt(601))
			u.up(602)
			u.Greeted()
			if got, want := fmt.Sprint(u.Passed()), fmt.Sprint([]dialer.Failure{{Target: at(601), Err: errAt(601)}}); got != want {
				t.Errorf("by the second device: got %s, want %s", got, want)
			}
		})
	})
}

// What becomes of a contact when its peer has other addresses.
func TestOtherAddresses(t *testing.T) {
	now := func(numbers ...int) func(*user) {
		return func(u *user) {
			var addresses []dialer.Target
			for _, n := range numbers {
				addresses = append(addresses, at(n))
			}
			u.Revise(addresses)
		}
	}
	refused := func(n int) func(*user) { return func(u *user) { u.b.Refused(at(n), errAt(n)) } }
	waits := []step{ms(0, (*user).Dial), ms(0, refused(1)), ms(0, func(u *user) { u.Wait(4 * time.Second) })}
	after := func(some []step, more ...step) []step { return slices.Concat(some, more) }
	for _, x := range []struct {
		name      string
		addresses int
		steps     []step
		want      []string
		state     string
	}{
		{"a connection stays", 1, []step{ms(0, (*user).connect), ms(10, now(2)), ms(3000, nil)}, []string{"0 open 1"}, "ready"},
		{"one that waits tries soon", 1, after(waits, ms(1000, now(2)), ms(1101, nil)), []string{"0 open 1", "0 tried, refused by 1, waiting", "1100 woken idle", "1100 open 2"}, "dialing"},
		{"the same ones do not hurry", 1, after(waits, ms(1000, now(1)), ms(1101, nil)), []string{"0 open 1", "0 tried, refused by 1, waiting"}, "waiting"},
		{"in another order do not hurry", 2, []step{
			ms(0, (*user).Dial), ms(0, refused(1)), ms(0, refused(2)), ms(0, func(u *user) { u.Wait(4 * time.Second) }), ms(1000, now(2, 1)), ms(1101, nil),
		}, []string{"0 open 1", "0 open 2", "0 tried, refused by 1 and refused by 2, waiting"}, "waiting"},
		{"one that changes all the time is not put off", 1, after(waits, ms(1000, now(2)), ms(1050, now(3)), ms(1090, now(4)), ms(1101, nil)), []string{"0 open 1", "0 tried, refused by 1, waiting", "1100 woken idle", "1100 open 4"}, "dialing"},
		{"in a try, the new one comes at once", 1, []step{ms(0, (*user).Dial), ms(1000, now(2)), ms(1001, nil)}, []string{"0 open 1", "1000 open 2"}, "dialing"},
		{"in a try, the new one comes first", 3, []step{ms(0, (*user).Dial), ms(100, now(1, 2, 3, 4)), ms(400, nil)}, []string{"0 open 1", "100 open 4", "350 open 2"}, "dialing"},
		{"in a try, those that are gone are not tried", 3, []step{ms(0, (*user).Dial), ms(100, now(4)), ms(4000, nil)}, []string{"0 open 1", "100 open 4"}, "dialing"},
		{"those that lead nowhere keep none back", 4, []step{ms(0, (*user).Dial), ms(2000, now(5)), ms(2001, nil)}, []string{"0 open 1", "250 open 2", "500 open 3", "750 open 4", "2000 open 5"}, "dialing"},
		{"however often it changes, few are opened", 4, []step{ms(0, (*user).Dial), ms(2000, func(u *user) {
			for n := range 100 {
				now(5 + n)(u)
			}
		}), ms(2001, func(u *user) { u.note("%d opens", len(u.got)); u.got = u.got[len(u.got)-1:] }), ms(4000, nil)}, []string{"2001 5 opens", "2250 open 104"}, "dialing"},
		{"those that refuse at once are as far apart as others", 1, []step{
			ms(0, (*user).Dial), ms(100, func(u *user) { u.refuses = 100 }), ms(100, now(2, 3)), ms(110, now(4, 5)), ms(120, now(5, 6)), ms(4000, nil),
		}, []string{"0 open 1", "100 open 2", "100 open 3", "350 open 6", "350 open 5"}, "dialing"},
		{"however many there are, one try takes a few", 1, func() []step {
			steps := []step{ms(0, (*user).Dial), ms(1, func(u *user) { u.refuses = 10_000 })}
			for i := range 10 {
				var some []int
				for n := range 64 {
					some = append(some, 1000+64*i+n)
				}
				steps = append(steps, ms(1000*(i+1), now(some...)))
			}
			return append(steps, ms(20_000, func(u *user) { u.note("%d opens", len(u.got)); u.got = u.got[len(u.got)-1:] }))
		}(), []string{"20000 128 opens"}, "dialing"},
		{"one without a wait to end is left alone", 1, []step{ms(0, func(u *user) { u.Wait(0) }), ms(1000, now(2)), ms(2000, nil)}, nil, "waiting"},
		{"one that is idle is left alone", 1, []step{ms(1000, now(2)), ms(2000, nil)}, nil, "idle"},
	} {
		t.Run(x.name, func(t *testing.T) { play(t, x.addresses, x.steps, x.want, x.state) })
	}
}

// play takes the steps, and compares what a user of so many addresses has noted.
func play(t *testing.T, addresses int, steps []step, want []string, state string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		u, begun := newBed(t).user(addresses), time.Now()
		u.stamp = func() string { return fmt.Sprint(time.Since(begun).Milliseconds(), " ") }
		for _, s := range steps {
			time.Sleep(s.at - time.Since(begun))
			synctest.Wait()
			if s.do != nil {
				u.do(func() { s.do(u) })
			}
		}
		synctest.Wait()
		u.do(func() {
			if !slices.Equal(u.got, want) {
				t.Errorf("got  %q, want %q", u.got, want)
			}
			if got := u.state(); got != state {
				t.Errorf("got the state %q, want %q", got, state)
			}
		})
	})
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
