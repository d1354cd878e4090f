// SPDX-License-Identifier: Apache-2.0

package dialer_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/internal/dialer"
)

func TestTheStatesOfAContact(t *testing.T) {
	const waits, wakes = "tried, refused by 1 and refused by 2, waiting", "woken idle"
	up := func(n int) func(*user) { return func(u *user) { u.up(n) } }
	refused := func(n int) func(*user) { return func(u *user) { u.b.Refused(at(n), errAt(n)) } }
	refusesFirst := func(u *user) { u.refuses = 1 }
	unwant := func(u *user) { u.wanted = false }
	for _, x := range []struct {
		name  string
		steps []func(*user)
		after time.Duration // that passes then
		want  []string
		state string
	}{
		{"a contact begins idle", nil, time.Hour, nil, "idle"},
		{"it dials", []func(*user){(*user).Dial}, 249 * time.Millisecond, []string{"open 1"}, "dialing"},
		{"the connection is there", []func(*user){(*user).Dial, up(1)}, time.Second, []string{"open 1"}, "greeting"},
		{"the peer says hello", []func(*user){(*user).connect}, time.Hour, []string{"open 1"}, "ready"},
		{"the peer says no hello", []func(*user){(*user).Dial, up(1)}, time.Hour, []string{"open 1", "missed"}, "greeting"},

		{"an address is refused at once", []func(*user){refusesFirst, (*user).Dial, up(2), (*user).Greeted}, time.Hour, []string{"open 1", "open 2"}, "ready"},
		{"an address is refused later", []func(*user){(*user).Dial, refused(1)}, 0, []string{"open 1", "open 2"}, "dialing"},
		{"the connection ends before the hello", []func(*user){(*user).Dial, up(1), (*user).lose}, 0, []string{"open 1", "open 2"}, "dialing"},
		{"all addresses are refused at once", []func(*user){func(u *user) { u.refuses = 2 }, (*user).Dial}, 0, []string{"open 1", "open 2", waits}, "waiting"},
		{"all addresses are refused, and tried again", []func(*user){(*user).Dial, refused(1), refused(2)}, 249 * time.Millisecond, []string{"open 1", "open 2", waits, wakes, "open 1"}, "dialing"},
		{"no connection is wanted any more while it is tried", []func(*user){(*user).Dial, unwant, refused(1)}, time.Hour, []string{"open 1", "tried, refused by 1, idle"}, "idle"},
		{"no connection is wanted any more during the wait", []func(*user){(*user).Dial, refused(1), refused(2), unwant}, time.Hour, []string{"open 1", "open 2", waits, wakes}, "idle"},
		{"addresses go while they are tried", []func(*user){(*user).Dial, refused(1), func(u *user) { u.Addresses = u.Addresses[:1] }, refused(2)}, 0, []string{"open 1", "open 2", "tried, refused by 2 and refused by 1, waiting"}, "waiting"},
		{"another address is refused", []func(*user){(*user).Dial, refused(3)}, 0, []string{"open 1"}, "dialing"},
		{"an address is refused twice", []func(*user){(*user).Dial, refused(1), refused(1)}, time.Hour, []string{"open 1", "open 2"}, "dialing"},
		{"the address of a connection is refused", []func(*user){(*user).connect, refused(1)}, time.Hour, []string{"open 1"}, "ready"},

		{"a connection is lost", []func(*user){(*user).connect, (*user).lose}, 249 * time.Millisecond, []string{"open 1", "tried, <nil>, waiting", wakes, "open 1"}, "dialing"},
		{"a connection to the second address is lost", []func(*user){refusesFirst, (*user).Dial, up(2), (*user).Greeted, (*user).lose}, time.Minute, []string{"open 1", "open 2", "tried, <nil>, waiting", wakes, "open 2", "open 1"}, "dialing"},
		{"a connection is lost that is not wanted", []func(*user){(*user).connect, unwant, (*user).lose}, time.Hour, []string{"open 1", "tried, <nil>, idle"}, "idle"},

		{"the peer dials", []func(*user){(*user).Accepted, (*user).Greeted}, time.Hour, nil, "ready"},
		{"the peer dials during a wait for it", []func(*user){func(u *user) { u.Wait(time.Minute) }, (*user).Accepted, (*user).Greeted}, time.Hour, nil, "ready"},
		{"the peer has dialed, and is awaited", []func(*user){(*user).Accepted, (*user).Greeted, func(u *user) { u.Closed() }, func(u *user) { u.Wait(time.Minute) }, unwant}, time.Hour, []string{wakes}, "idle"},
		{"a peer that has dialed is refused", []func(*user){(*user).Accepted, (*user).lose}, 0, []string{"tried, EOF, waiting"}, "waiting"},
		{"a wait without end", []func(*user){func(u *user) { u.Wait(time.Minute) }, func(u *user) { u.Wait(0) }}, time.Hour, nil, "waiting"},
		{"a wait without end, and then a retry", []func(*user){func(u *user) { u.Wait(0) }, (*user).Retry}, 249 * time.Millisecond, []string{"tried, <nil>, waiting", wakes, "open 1"}, "dialing"},
		{"rest ends a wait", []func(*user){func(u *user) { u.Wait(time.Minute) }, func(u *user) { u.Rest() }}, time.Hour, nil, "idle"},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := newBed(t).user(2)
				for _, step := range x.steps {
					u.do(func() { step(u) })
				}
				time.Sleep(x.after)
				synctest.Wait()
				u.do(func() {
					if !slices.Equal(u.got, x.want) {
						t.Errorf("got %q, want %q", u.got, x.want)
					}
					if got := u.state(); got != x.state {
						t.Errorf("got the state %q, want %q", got, x.state)
					}
				})
			})
		})
	}
}

// The time for a hello is that of a beat.Deadline: time in which the loop is held does
// not count. No wait outlives its connection.
func TestAHelloHasItsTime(t *testing.T) {
	for _, x := range []struct {
		name string
		then func(u *user)
		want time.Duration // after which the hello is missed; 0: it is not
	}{
		{"nothing comes", func(*user) {}, 5 * time.Second},
		{"the hello comes", func(u *user) { u.do(u.Greeted) }, 0},
		{"the connection ends", func(u *user) { u.do(func() { u.Closed() }) }, 0},
		{"the loop is held", func(u *user) {
			time.Sleep(time.Second)
			u.b.loop.Freeze()
			time.Sleep(time.Minute)
			u.b.loop.Thaw()
		}, 65 * time.Second},
		{"another connection", func(u *user) {
			time.Sleep(2 * time.Second)
			u.do(u.lose)
			u.do(u.Accepted)
		}, 7 * time.Second},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u, begun := newBed(t).user(2), time.Now()
				u.do(func() {
					u.Dial()
					u.up(1)
				})
				x.then(u)
				time.Sleep(time.Hour)
				u.do(func() {
					if x.want == 0 && len(u.missed) > 0 || x.want > 0 && (len(u.missed) != 1 || u.missed[0].Sub(begun) != x.want) {
						t.Errorf("began at %v, got missed hellos at %v, want one after %v", begun, u.missed, x.want)
					}
				})
			})
		})
	}
}

// The delay before a try grows up to a limit, and is short again after a connection that
// has lasted, not after one that was only made.
func TestTheDelayGrowsUntilAConnectionLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newBed(t).user(1)
		// delay loses the connection after a time, and returns the delay before the next.
		delay := func(lasts time.Duration, lose func()) (d time.Duration) {
			time.Sleep(lasts)
			lost := time.Now()
			u.do(func() {
				u.woken = nil
				lose()
			})
			time.Sleep(time.Minute)
			u.do(func() {
				if len(u.woken) != 1 {
					t.Errorf("woken at %v, want once", u.woken)
					return
				}
				d = u.woken[0].Sub(lost)
			})
			return d
		}
		refuse := func() { u.b.Refused(at(1), errAt(1)) }
		drop := func() { // the hello has come, and then the connection ends
			u.up(1)
			u.Greeted()
			u.lose()
		}
		within := func(when string, d, low, high time.Duration) {
			t.Helper()
			if d < low || d > high {
				t.Errorf("%s: got a delay of %v, want %v to %v", when, d, low, high)
			}
		}
		u.do(u.Dial)
		within("the first one", delay(0, refuse), least, 2*least)
		last := time.Duration(0)
		for range 20 {
			last = delay(0, refuse)
			within("later", last, least, most)
		}
		within("after 20 tries", last, most/2, most)
		within("after a connection that was only made", delay(0, drop), most/2, most)
		u.do(func() {
			u.up(1)
			u.Greeted()
		})
		within("after a connection that has lasted", delay(most, u.lose), least, 2*least)
	})
}

func TestAnAddressHasOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		u, other := b.user(1), b.user(1)
		connected := func(want bool, when string) {
			t.Helper()
			if got := b.Connected(at(1)); got != want {
				t.Errorf("Connected %s: got %t, want %t", when, got, want)
			}
		}
		u.do(func() {
			connected(false, "at first")
			u.Dial()
			connected(false, "while it is dialed")
			u.up(1)
			connected(false, "before the hello")
			u.Greeted()
			connected(true, "after the hello")
			other.refuses = 1
			other.Dial()
			connected(true, "after a try of another contact in vain")
			u.Closed()
			connected(false, "when it is closed, and does not yet retry")
			u.Wait(0)
			other.Dial()
			other.up(1)
			other.Greeted()
			connected(true, "when another contact has it")
			u.Accepted()
			u.Greeted()
			u.Closed()
			connected(true, "after a connection that this side has not dialed")
			other.Closed()
			connected(false, "in the end")
		})
	})
}

func TestWhatAContactTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := newBed(t).user(2)
		u.do(func() {
			addresses := u.Addresses
			u.Addresses = nil
			if got := u.Address(); got != (dialer.Target{}) {
				t.Errorf("Address of none: got %v", got)
			}
			u.Addresses = addresses
			if got := u.Address(); got != at(1) {
				t.Errorf("Address of an idle contact: got %v, want %v", got, at(1))
			}
			u.refuses = 1
			u.Dial()
			u.up(2)
			if got := u.Address(); got != at(2) {
				t.Errorf("Address of a connection: got %v, want %v", got, at(2))
			}
			u.Greeted()
			u.lose()
			if got := u.Address(); got != at(2) {
				t.Errorf("Address after a connection: got %v, want %v", got, at(2))
			}
			u.Addresses = addresses[:1]
			if got := u.Address(); got != at(1) {
				t.Errorf("Address when the second one has gone: got %v, want %v", got, at(1))
			}
		})
		time.Sleep(time.Second)
		u.do(func() {
			u.Accepted()
			u.Greeted()
			if got := u.Since(); got != time.Now() {
				t.Errorf("Since: got %v, want %v", got, time.Now())
			}
			if !u.Closed() {
				t.Error("Closed of a ready connection: got false")
			}
			u.Accepted()
			if u.Closed() {
				t.Error("Closed of a connection without hello: got true")
			}
		})
	})
}
