// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
	"tagbus/internal/testkit"
)

// want fails the test unless a directory lists what it should, once all has settled.
func want(t *testing.T, when string, d *memory.Directory, entries ...string) {
	t.Helper()
	synctest.Wait()
	if got := listed(d); !slices.Equal(got, entries) {
		t.Errorf("%s: got %q, want %q", when, got, entries)
	}
}

// bubble runs a test with two directories and fake time.
func bubble(t *testing.T, test func(t *testing.T, a, b *memory.Directory)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a, b := memory.New(), memory.New()
		test(t, a, b)
		_, _ = a.Close(), b.Close() // those of memory do not fail
	})
}

func TestACopyFollowsWhatItIsMadeOf(t *testing.T) {
	bubble(t, func(t *testing.T, a, b *memory.Directory) {
		p := announce(t, a, native("p", 1))
		r := begin("m", a, b)
		want(t, "what was there", b, "p 0x0000000000000001 m")
		q := announce(t, a, native("q", 2))
		testkit.Must(t, p.Update(native("p", 1, 2)))
		want(t, "what came and what has changed", b, "p 0x0000000000000001-0x0000000000000002 m", "q 0x0000000000000002 m")
		testkit.Must(t, q.Withdraw())
		a.Expire("p", directory.ErrExpired)
		want(t, "what was withdrawn and what has expired", b)
		testkit.Must(t, p.Update(native("p", 3)))
		want(t, "what is back", b, "p 0x0000000000000003 m")
		if err := r.end(); err != nil {
			t.Errorf("got %v at the end, want nil", err)
		}
		want(t, "after the end", b)
		s := r.counts.standing("a", "b")
		if s.Announced != 3 || s.Updated != 1 || s.Withdrawn != 3 {
			t.Errorf("got %+v, want 3 announced, 1 updated and 3 withdrawn", s)
		}
	})
}

// TestACopyHasTheProofOfItsOriginal, and the next one when the original is signed again.
func TestACopyHasTheProofOfItsOriginal(t *testing.T) {
	bubble(t, func(t *testing.T, a, b *memory.Directory) {
		e := native("p", 1)
		e.Proof = []byte("first")
		p := announce(t, a, e)
		r := begin("m", a, b)
		for _, proof := range []string{"first", "second"} {
			e.Proof = []byte(proof)
			testkit.Must(t, p.Update(e))
			want(t, "signed", b, "p 0x0000000000000001 m")
			if entries, err := b.List(); err != nil || string(entries[0].Proof) != proof {
				t.Errorf("got %q, %v, want %q", entries[0].Proof, err, proof)
			}
		}
		if err := r.end(); err != nil {
			t.Errorf("got %v at the end, want nil", err)
		}
	})
}

// TestTwoMirrorsMakeNoCircle: the copy of a publisher that has ended is still there, since
// its mirror cannot withdraw it, and the other mirror does not bring the publisher back.
func TestTwoMirrorsMakeNoCircle(t *testing.T) {
	bubble(t, func(t *testing.T, a, b *memory.Directory) {
		p := announce(t, a, native("p", 1))
		there, back := begin("m", a, b), begin("n", b, a)
		want(t, "copied", b, "p 0x0000000000000001 m")
		there.to.set(true)
		testkit.Must(t, p.Withdraw())
		time.Sleep(time.Hour)
		want(t, "not yet withdrawn", b, "p 0x0000000000000001 m")
		want(t, "where it has ended", a)
		there.to.set(false)
		time.Sleep(maxPause)
		want(t, "withdrawn", b)
		want(t, "where it has ended", a)
		if err := errors.Join(there.end(), back.end()); err != nil {
			t.Error(err)
		}
	})
}

func TestOfTwoMirrorsTheOtherTakesOver(t *testing.T) {
	for _, killed := range []bool{false, true} {
		bubble(t, func(t *testing.T, a, b *memory.Directory) {
			announce(t, a, native("p", 1))
			first := begin("m", a, b)
			want(t, "one mirror", b, "p 0x0000000000000001 m")
			second := begin("n", a, b)
			want(t, "two mirrors", b, "p 0x0000000000000001 m")
			if s := second.counts.standing("a", "b"); s.Copies != 0 || s.Others != 1 || s.Failing != 0 {
				t.Errorf("got %+v of the second mirror, want what it leaves to the other, and no failure", s)
			}
			if killed {
				first.to.kill()
			}
			if err := first.end(); (err != nil) != killed {
				t.Errorf("killed %t: got %v at the end of the first", killed, err)
			}
			if killed {
				want(t, "before it has expired", b, "p 0x0000000000000001 m")
				time.Sleep(leaseTime)
			}
			want(t, "the second alone", b, "p 0x0000000000000001 n")
			if err := second.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestBothHaveACopy, as a folder lets happen when both begin at once: that with the lower id
// stays.
func TestBothHaveACopy(t *testing.T) {
	for _, test := range []struct {
		id, other   string
		held, taken bool
	}{
		{"m", "n", true, false},
		{"n", "m", true, true},
		{"m", "n", false, true},
		{"n", "m", false, true},
		{"m", "", true, true}, // its publisher has moved itself
	} {
		v := newView(test.id)
		v.first(directory.Event{Kind: directory.Appeared, Entry: native("p", 1)})
		e := native("p", 1)
		e.Mirror = test.other
		v.second(directory.Event{Kind: directory.Appeared, Entry: e})
		if _, wanted, taken := v.of("p", test.held); !wanted || taken != test.taken {
			t.Errorf("%+v: got wanted %t and taken %t", test, wanted, taken)
		}
	}
}

func TestWhatFailsIsSaidOnceAndTriedAgain(t *testing.T) {
	bubble(t, func(t *testing.T, a, b *memory.Directory) {
		announce(t, a, native("p", 1))
		ctx, cancel := context.WithCancel(t.Context())
		h := &handle{Directory: b, away: true}
		var said []error // read when all is settled
		c := newCopier("m", a, h, func(err error) { said = append(said, err) })
		done := make(chan error)
		go func() { done <- c.run(ctx, context.Background()) }()
		time.Sleep(10 * time.Minute)
		want(t, "away", b)
		if s := c.counts.standing("a", "b"); s.Failing != 1 || len(said) != 1 || !errors.Is(said[0], errAway) {
			t.Errorf("got %+v and %v, want one that fails and why, once", s, said)
		}
		b.Report("disk", errors.New("full"))
		h.set(false)
		time.Sleep(maxPause)
		b.Report("disk", nil)
		want(t, "back", b, "p 0x0000000000000001 m")
		if s := c.counts.standing("a", "b"); s.Failing != 0 || s.Copies != 1 || len(said) != 2 {
			t.Errorf("got %+v and %v, want one copy, no failure, and the problem of the directory", s, said)
		}
		h.set(true)
		cancel()
		left := (*LeftError)(nil)
		if err := <-done; !errors.As(err, &left) || left.Copies != 1 || !errors.Is(err, errAway) {
			t.Errorf("got %v, want a LeftError of one copy", err)
		}
	})
}

func TestASecondSignalLeavesTheCopies(t *testing.T) {
	bubble(t, func(t *testing.T, a, b *memory.Directory) {
		announce(t, a, native("p", 1))
		ctx, cancel := context.WithCancel(t.Context())
		c := newCopier("m", a, b, func(error) {})
		done := make(chan error)
		go func() { done <- c.run(ctx, ctx) }()
		want(t, "copied", b, "p 0x0000000000000001 m")
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want a LeftError", err)
		}
		want(t, "left", b, "p 0x0000000000000001 m")
	})
}

func TestClosedDirectoriesAreNotMirrored(t *testing.T) {
	bubble(t, func(t *testing.T, a, b *memory.Directory) {
		testkit.Must(t, b.Close())
		for _, c := range []*copier{newCopier("m", a, b, nil), newCopier("m", b, a, nil)} {
			if err := c.run(t.Context(), t.Context()); !errors.Is(err, directory.ErrClosed) {
				t.Errorf("got %v, want ErrClosed", err)
			}
		}
	})
}

// TestAThousandAreCopiedAtOnce, some at a time.
func TestAThousandAreCopiedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, a, b *memory.Directory) {
		for i := range 1000 {
			announce(t, a, native("p"+string(rune('a'+i/100))+string(rune('a'+i/10%10))+string(rune('a'+i%10)), 1))
		}
		r := begin("m", a, b)
		synctest.Wait()
		if got := len(listed(b)); got != 1000 {
			t.Errorf("got %d copies, want 1000", got)
		}
		if err := r.end(); err != nil || len(listed(b)) != 0 {
			t.Errorf("got %v and %d copies at the end, want none", err, len(listed(b)))
		}
	})
}
