// SPDX-License-Identifier: Apache-2.0

package signed_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/bus/directory/memory"
	"tagbus/bus/directory/signed"
	"tagbus/internal/testkit/pki"
)

// TestDirectory_anOldEntryComesBack in front of a reader that has seen a newer one, and of another one.
func TestDirectory_anOldEntryComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t, everything)
		storage := memory.New()
		l := watch(t, x.wrap(storage, x.as("cn:reader").store))
		pair := x.as("cn:p").store.KeyPair()
		old := entry(t, directorytest.Entry("a", 1), pair, time.Now().UnixNano())
		fresh := entry(t, directorytest.Entry("a", 2), pair, time.Now().UnixNano()+1)
		r, err := storage.Announce(old)
		must(t, err)
		must(t, r.Update(fresh))
		l.want("appeared a", "changed a")
		must(t, r.Update(old))
		if e := l.want("problem a", "gone a"); !errors.Is(e[1].Err, signed.ErrReplayed) || !errors.Is(e[0].Err, signed.ErrReplayed) {
			t.Errorf("got %v, want ErrReplayed", e)
		}
		must(t, r.Update(fresh))
		must(t, r.Withdraw())
		l.want("appeared a", "gone a")
		time.Sleep(time.Hour)
		r, err = storage.Announce(old) // the process has ended
		must(t, err)
		for _, e := range l.take() {
			if e.Kind != directory.Problem {
				t.Errorf("got %v, want that it is refused", e)
			}
		}
		late := watch(t, x.wrap(storage, x.as("cn:late").store))
		late.want("appeared a") // for a reader that has not seen it, it is one of 3 hours
		time.Sleep(signed.MaxAge + signed.MaxSkew - time.Hour - time.Minute)
		late.want()
		time.Sleep(3 * time.Minute)
		if e := late.want("problem a", "gone a"); !errors.Is(e[1].Err, signed.ErrStale) {
			t.Errorf("got %v, want ErrStale", e)
		}
		must(t, r.Withdraw())
	})
}

// TestDirectory_whatIsRememberedIsBounded, and forgotten when it is of no use.
func TestDirectory_whatIsRememberedIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t, everything)
		d := x.wrap(memory.New(), x.as("cn:reader").store)
		if n, last := d.Remember(2*signed.MaxSeen, time.Now().Add(-signed.MaxAge)); n > signed.MaxSeen || n < signed.MaxSeen/2 || !last {
			t.Errorf("got %d proofs remembered, the last one among them: %t; want at most %d, and the last", n, last, signed.MaxSeen)
		}
		watch(t, d)
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		if n, _ := d.Remember(0, time.Now()); n != 0 {
			t.Errorf("got %d proofs remembered after their time, want none", n)
		}
	})
}

// TestDirectory_aSignerCannotMakeAnotherOneLookOld: what is remembered is of a signer.
func TestDirectory_aSignerCannotMakeAnotherOneLookOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t, everything)
		storage := memory.New()
		l := watch(t, x.wrap(storage, x.as("cn:reader").store))
		p, q := x.as("cn:p").store.KeyPair(), x.as("cn:q").store.KeyPair()
		now := time.Now().UnixNano()
		r, err := storage.Announce(entry(t, directorytest.Entry("a", 1), q, now+int64(time.Minute)))
		must(t, err)
		must(t, r.Update(entry(t, directorytest.Entry("a", 2), p, now)))
		if e := l.want("appeared a", "changed a"); e[1].Entry.Signer != "cn:p" {
			t.Errorf("got %v, want the entry of the other signer", e)
		}
	})
}

// TestDirectory_clocksThatDiffer by as much as they may, and by more.
func TestDirectory_clocksThatDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t, everything)
		storage := memory.New()
		l := watch(t, x.wrap(storage, x.as("cn:reader").store))
		pair, now := x.as("cn:p").store.KeyPair(), time.Now()
		for instance, ahead := range map[string]time.Duration{
			"a": signed.MaxSkew, "b": signed.MaxSkew + time.Second, "c": -signed.MaxAge - signed.MaxSkew, "d": -signed.MaxAge - signed.MaxSkew - 1,
		} {
			_, err := storage.Announce(entry(t, directorytest.Entry(instance, 1), pair, now.Add(ahead).UnixNano()))
			must(t, err)
		}
		for _, e := range l.take() {
			want := map[string]error{"b": signed.ErrFuture, "d": signed.ErrStale}[e.Entry.Instance]
			if why := (*signed.RefusedError)(nil); errors.As(e.Err, &why) {
				want = map[string]error{"b": signed.ErrFuture, "d": signed.ErrStale}[why.Instance]
			}
			if (e.Kind == directory.Appeared) != (want == nil) || !errors.Is(e.Err, want) {
				t.Errorf("got %v, want %v", e, want)
			}
		}
		time.Sleep(2 * time.Minute) // the time of b has come, and that of c is over
		for _, e := range l.take() {
			if (e.Kind != directory.Appeared || e.Entry.Instance != "b") && !errors.Is(e.Err, signed.ErrStale) {
				t.Errorf("got %v, want b, and c gone", e)
			}
		}
	})
}

// TestDirectory_aProcessThatLives signs again and again, of which a watcher sees nothing.
func TestDirectory_aProcessThatLives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t, everything)
		storage := memory.New()
		own := x.process(x.ca.Issue(t, "cn:p", pki.Valid(time.Now().Add(-time.Hour), time.Now().Add(1000*time.Hour))))
		p := x.wrap(storage, own.store)
		l, stored := watch(t, x.wrap(storage, x.as("cn:reader").store)), watch(t, storage)
		r := announce(t, p, "a", 1)
		stored.want("appeared a")
		time.Sleep(4 * time.Hour)
		l.want("appeared a")
		if n := len(stored.take()); n < 3 || n > 4 {
			t.Errorf("got %d new proofs in 4 hours, want one an hour", n)
		}
		must(t, r.Update(directorytest.Entry("a", 1)))
		stored.want()
		must(t, r.Update(directorytest.Entry("a", 1, 2)))
		must(t, r.Withdraw())
		time.Sleep(2 * time.Hour)
		stored.want("changed a", "gone a")
		l.want("changed a", "gone a")
		if err := r.Update(directorytest.Entry("a")); !errors.Is(err, directory.ErrWithdrawn) {
			t.Errorf("got %v, want ErrWithdrawn", err)
		}
	})
}
