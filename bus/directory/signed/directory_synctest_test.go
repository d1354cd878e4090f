// SPDX-License-Identifier: Apache-2.0

package signed_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/bus/directory/memory"
	"tagbus/bus/directory/signed"
	"tagbus/identity"
	"tagbus/internal/testkit/pki"
	"tagbus/tags"
)

const everything = `{"rules":[{"who": "*", "publish": "*", "receive": "*"}]}`

// TestDirectory_whatIsShown of entries of all kinds of signers.
func TestDirectory_whatIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t, `{"rules":[{"who": "cn:p", "publish": "1-2"}, {"who": "cn:r", "receive": "5"}]}`)
		other := newSite(t, everything)
		storage := memory.New()
		l := watch(t, x.wrap(storage, x.as("cn:reader").store))
		p, r := x.wrap(storage, x.as("cn:p").store), x.wrap(storage, x.as("cn:r").store)
		announce(t, storage, "unsigned", 1)
		announce(t, other.wrap(storage, other.as("cn:p").store), "stranger", 1)
		announce(t, p, "good", 1, 2)
		announce(t, p, "part", 2, 3)
		announce(t, p, "wrong", 4)
		announce(t, p, "none")
		receiver := directorytest.Entry("receiver", 5)
		receiver.Role = directory.Receiver
		for instance, d := range map[string]directory.Directory{"receiver": r, "no-receiver": p} {
			receiver.Instance = instance
			_, err := d.Announce(receiver)
			must(t, err)
			synctest.Wait()
		}
		shown, problems := map[string]directory.Entry{}, map[string]error{}
		for _, e := range l.take() {
			why := (*signed.RefusedError)(nil)
			switch {
			case e.Kind == directory.Appeared:
				shown[e.Entry.Instance] = e.Entry
			case e.Kind == directory.Problem && errors.As(e.Err, &why):
				problems[why.Instance] = e.Err
			default:
				t.Errorf("got %v, want entries and problems", e)
			}
		}
		for instance, signer := range map[string]string{"good": "cn:p", "part": "cn:p", "none": "cn:p", "receiver": "cn:r"} {
			if e := shown[instance]; e.Signer != signer || len(e.Proof) > 0 {
				t.Errorf("%s: got %+v, want it shown as signed by %s", instance, e, signer)
			}
		}
		if set := shown["part"].Tags; !set.Equal(tags.Of(2)) {
			t.Errorf("got tags %v of the entry that is covered in part, want 2", set)
		}
		for instance, want := range map[string]error{
			"unsigned": signed.ErrUnsigned, "stranger": identity.ErrUnknownCA, "part": signed.ErrNotCovered,
			"wrong": signed.ErrNotCovered, "no-receiver": signed.ErrNotCovered,
		} {
			if err := problems[instance]; !errors.Is(err, want) {
				t.Errorf("%s: got %v, want %v", instance, err, want)
			}
		}
		if len(shown) != 4 || len(problems) != 5 {
			t.Errorf("got %d entries and %d problems, want 4 and 5: %v", len(shown), len(problems), problems)
		}
		const text = `directory: the entry of wrong (felix-07@pc-07), signed by cn:p, is not used: not covered by the policy: publish 0x0000000000000004: no rule lets cn:p publish 0x0000000000000004: nearest is rule 1 (cn:p), which lets it publish 0x0000000000000001-0x0000000000000002; add {"who":"cn:p","publish":"0x0000000000000004"}`
		if err := problems["wrong"]; err == nil || err.Error() != text {
			t.Errorf("got\n%v, want\n%s", err, text)
		}
		if err := problems["part"]; err == nil || !strings.Contains(err.Error(), "is used in part: ") {
			t.Errorf("got %v, want that it is used in part", err)
		}
	})
}

// TestDirectory_List_showsTheSame without a watch, and beside one.
func TestDirectory_List_showsTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t, `{"rules":[{"who": "cn:p", "publish": "1-2"}]}`)
		storage := memory.New()
		d := x.wrap(storage, x.as("cn:p").store)
		announce(t, d, "a", 1)
		announce(t, d, "b", 2, 3)
		announce(t, storage, "c", 1)
		for range 2 {
			entries, err := d.List()
			if len(entries) != 2 || entries[0].Signer != "cn:p" || !entries[1].Tags.Equal(tags.Of(2)) {
				t.Errorf("got %v, want a, and b with one tag", entries)
			}
			if !errors.Is(err, signed.ErrUnsigned) || !errors.Is(err, signed.ErrNotCovered) {
				t.Errorf("got %v, want what is wrong with b and c", err)
			}
			l := watch(t, d)
			l.want("appeared a", "appeared b", "problem b", "problem c")
		}
	})
}

// TestDirectory_certificatesChange at the announcer and at the reader.
func TestDirectory_certificatesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t, everything)
		storage := memory.New()
		first := x.ca.Issue(t, "cn:p")
		own, reader := x.process(first), x.as("cn:reader")
		p := x.wrap(storage, own.store)
		l, stored := watch(t, x.wrap(storage, reader.store)), watch(t, storage)
		announce(t, p, "a", 1)
		l.want("appeared a")
		stored.want("appeared a")
		own.issue(t, x.ca.Issue(t, "cn:p"))
		must(t, own.store.Reload())
		x.tell()
		l.want()
		stored.want("changed a") // with the new certificate
		pki.Write(t, reader.dir, "crl.pem", x.ca.Revoke(t, x.ca.NotAfter, first))
		must(t, reader.store.Reload())
		x.tell()
		l.want() // the old one was revoked
		own.issue(t, first)
		must(t, own.store.Reload())
		x.tell()
		if e := l.want("problem a", "gone a"); !errors.Is(e[1].Err, identity.ErrRevoked) {
			t.Errorf("got %v, want ErrRevoked", e)
		}
		stored.want("changed a")
		own.issue(t, x.ca.Issue(t, "cn:p2", pki.Valid(time.Now().Add(-time.Hour), time.Now().Add(time.Hour))))
		must(t, own.store.Reload())
		x.tell()
		if e := l.want("appeared a"); e[0].Entry.Signer != "cn:p2" {
			t.Errorf("got %v, want the new name", e)
		}
		time.Sleep(59 * time.Minute)
		l.want()
		time.Sleep(3 * time.Minute)
		if e := l.want("problem a", "gone a"); !errors.Is(e[1].Err, identity.ErrExpired) {
			t.Errorf("got %v, want ErrExpired", e)
		}
	})
}

func TestDirectory_thePolicyChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t, everything)
		storage := memory.New()
		l := watch(t, x.wrap(storage, x.as("cn:reader").store))
		announce(t, x.wrap(storage, x.as("cn:p").store), "a", 1, 2)
		l.want("appeared a")
		x.change(`{"rules":[{"who": "cn:p", "publish": "1"}]}`)
		if e := l.want("problem a", "changed a"); !e[1].Entry.Tags.Equal(tags.Of(1)) {
			t.Errorf("got %v, want tag 1", e)
		}
		x.change(`{"rules":[{"who": "cn:p", "publish": "3"}]}`)
		if e := l.want("problem a", "gone a"); !errors.Is(e[1].Err, signed.ErrNotCovered) {
			t.Errorf("got %v, want ErrNotCovered", e)
		}
		x.change(everything)
		if e := l.want("appeared a"); !e[0].Entry.Tags.Equal(tags.Of(1, 2)) {
			t.Errorf("got %v, want both tags", e)
		}
	})
}

// TestDirectory_tellsAProblemOnce while it lasts, and now and then however often its entry comes and goes.
func TestDirectory_tellsAProblemOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t, everything)
		storage := memory.New()
		l := watch(t, x.wrap(storage, x.as("cn:reader").store))
		stays := announce(t, storage, "stays", 1)
		time.Sleep(time.Hour)
		l.want("problem stays")
		must(t, stays.Withdraw())
		for range 1000 {
			must(t, announce(t, storage, "a", 1).Withdraw())
			time.Sleep(time.Second)
		}
		if n := len(l.take()); n < 2 || n > 10 {
			t.Errorf("got %d events, want a problem now and then", n)
		}
	})
}

// TestDirectory_problemsOfTheStorage are told, and not for ever.
func TestDirectory_problemsOfTheStorage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t, everything)
		storage := memory.New()
		d := x.wrap(storage, x.as("cn:reader").store)
		l := watch(t, d)
		full := errors.New("disk full")
		storage.Report("disk", full)
		if e := l.want("problem "); !errors.Is(e[0].Err, full) {
			t.Errorf("got %v, want the problem of the storage", e)
		}
		late := watch(t, d)
		late.want("problem ")
		storage.Report("disk", nil)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		later := watch(t, d)
		later.want()
	})
}

// TestDirectory_aMirrorDoesNotSign what nothing has signed.
func TestDirectory_aMirrorDoesNotSign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t, everything)
		d := x.wrap(memory.New(), x.as("cn:mirror").store)
		l := watch(t, d)
		e := directorytest.Entry("a", 1)
		e.Mirror = "m1"
		_, err := d.Announce(e)
		must(t, err)
		if e := l.want("problem a"); !errors.Is(e[0].Err, signed.ErrUnsigned) {
			t.Errorf("got %v, want ErrUnsigned", e)
		}
	})
}

// TestDirectory_aCopyOfAMirror keeps the proof of the original.
func TestDirectory_aCopyOfAMirror(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t, everything)
		from, to := memory.New(), memory.New()
		announce(t, x.wrap(from, x.as("cn:p").store), "a", 1)
		entries, err := from.List()
		must(t, err)
		l := watch(t, x.wrap(to, x.as("cn:reader").store))
		entries[0].Mirror = "m1"
		for _, d := range []directory.Directory{to, x.wrap(to, x.as("cn:mirror").store)} {
			r, err := d.Announce(entries[0])
			must(t, err)
			if e := l.want("appeared a"); e[0].Entry.Signer != "cn:p" || e[0].Entry.Mirror != "m1" {
				t.Errorf("got %+v, want the entry of the original", e)
			}
			must(t, r.Withdraw())
			l.want("gone a")
		}
	})
}
