// SPDX-License-Identifier: Apache-2.0

package door_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/acl"
	"tagbus/bus/internal/door"
	"tagbus/identity"
	"tagbus/internal/alarm"
	"tagbus/tags"
)

func TestDoor_withoutAccessLetsAllIn(t *testing.T) {
	var d door.Door
	p, err := d.Enter(of("peer", time.Now()), acl.Subscribe)
	if err != nil || p.Identity() != nil || d.Asks() || !d.Name().IsAnonymous() {
		t.Fatalf("got %v, %v, asks %v, want a peer without identity", p.Identity(), err, d.Asks())
	}
	everything := tags.Everything()
	if err := errors.Join(p.Again(), p.Lacks(everything), p.Refuses(everything, everything), p.Whole(everything), d.Own(acl.Publish, everything),
		d.Enters(nil, acl.Describe), d.Expired(nil), d.Refuses(nil, acl.Publish, everything, everything)); err != nil {
		t.Error(err)
	}
	if !d.Signed("cn:other", nil) {
		t.Error("an entry is not signed by its peer, want that not to matter")
	}
	d.Close()
}

func TestDoor_enter(t *testing.T) {
	d, r := newDoor(t, "subscribe", "5-9")
	ep := of("peer", time.Now().Add(time.Hour))
	p, err := d.Enter(ep, acl.Subscribe)
	if err != nil || p.Identity().Principal != called(t, "cn:peer") || !p.Rights().Equal(span(5, 9)) {
		t.Fatalf("got %v with %v, %v", p.Identity(), p.Rights(), err)
	}
	p, err = d.Enter(ep, acl.Send)
	if x := refusalOf(t, err); x.Who != called(t, "cn:peer") || x.Action != acl.Send || !x.Tags.IsEmpty() || p.Identity() == nil {
		t.Errorf("got %v of %v, want that it may send nothing", x, p.Identity())
	}
	if p, err = d.Enter(end{}, acl.Subscribe); !p.Identity().Principal.IsAnonymous() || err == nil {
		t.Errorf("got %v, %v, want an anonymous peer to be refused", p.Identity(), err)
	}
	r.gone = true
	if p, err = d.Enter(ep, acl.Subscribe); !errors.Is(err, errGone) || p.Identity() != nil {
		t.Errorf("got %v, %v, want %v", p.Identity(), err, errGone)
	}
}

func TestPeer_whatItMayHave(t *testing.T) {
	d, r := newDoor(t, "subscribe", "5-9")
	p, err := d.Enter(of("peer", time.Now().Add(time.Hour)), acl.Subscribe)
	if err != nil {
		t.Fatal(err)
	}
	few, many, served := tags.Of(5, 6), tags.Of(6, 10, 11), tags.Of(1, 2, 6, 10)
	if err := errors.Join(p.Lacks(few), p.Refuses(few, served), p.Whole(few), p.Refuses(many, few)); err != nil {
		t.Errorf("got %v, want nil", err)
	}
	for _, x := range []struct {
		name string
		err  error
		want tags.Set
		rule string
	}{
		{"lacks", p.Lacks(many), tags.Of(10, 11), ""},
		{"of those that are served", p.Refuses(many, served), tags.Of(10), ""},
		{"whole", p.Whole(many), tags.Of(10, 11), "nearest rule"},
		{"own", d.Own(acl.Subscribe, many), tags.Of(10, 11), "nearest rule"},
	} {
		if got := refusalOf(t, x.err); !got.Tags.Equal(x.want) || got.Rule != x.rule {
			t.Errorf("%s: got %v by %q, want %v by %q", x.name, got.Tags, got.Rule, x.want, x.rule)
		}
	}
	r.allow("subscribe", "9-10")
	if p.Lacks(few) != nil { // it is told first
		t.Error("the rights change before the peer is told of them")
	}
	before, err := p.Review()
	if err != nil || !before.Equal(span(5, 9)) || !p.Rights().Equal(span(9, 10)) || p.Lacks(few) == nil {
		t.Errorf("got %v, then %v, %v", before, p.Rights(), err)
	}
	r.allow("send", "1")
	if x := refusalOf(t, p.Again()); !x.Tags.IsEmpty() {
		t.Errorf("got %v, want that it may not subscribe to anything", x)
	}
	r.gone = true
	if _, err = p.Review(); !errors.Is(err, errGone) || !errors.Is(p.Again(), errGone) {
		t.Errorf("got %v and %v, want %v", err, p.Again(), errGone)
	}
}

func TestKept(t *testing.T) {
	sets := []tags.Set{tags.Of(1), tags.Of(2, 3), tags.Of(3)}
	for _, x := range []struct{ before, now, want tags.Set }{
		{tags.Of(1, 2), tags.Of(1, 2, 3), tags.Set{}},
		{tags.Of(1, 3), tags.Of(1), tags.Of(3)},
		{tags.Everything(), tags.Of(1), tags.Of(2, 3)},
		{tags.Of(9), tags.Of(1), tags.Set{}},
	} {
		if got := door.Kept(sets, x.before, x.now); !got.Equal(x.want) {
			t.Errorf("%v, now %v: got %v, want %v", x.before, x.now, got, x.want)
		}
	}
}

func TestScreening(t *testing.T) {
	d, _ := newDoor(t, "subscribe", "5-9")
	p, err := d.Enter(of("peer", time.Now().Add(time.Hour)), acl.Subscribe)
	if err != nil {
		t.Fatal(err)
	}
	wishes := []tags.Set{tags.Of(5), tags.Of(1), tags.Of(6, 10), tags.Of(9)}
	var gone []tags.Set
	s := door.Screening[tags.Set]{
		Peer: &p, Left: wishes, Set: func(w *tags.Set) tags.Set { return *w },
		Refuse: func(w *tags.Set, why error) { gone = append(gone, *w, refusalOf(t, why).Tags) },
	}
	runs, done := 0, false
	for ; !done; runs++ {
		var steps int
		if steps, done = s.Run(2); steps == 0 {
			t.Fatal("got a step that costs nothing")
		}
	}
	if runs != 3 || !tags.Union(s.Pass...).Equal(tags.Of(5, 9)) {
		t.Errorf("got %v in %d runs, want two sets in 3", s.Pass, runs)
	}
	if want := []tags.Set{tags.Of(1), tags.Of(1), tags.Of(6, 10), tags.Of(10)}; !tags.Union(gone...).Equal(tags.Union(want...)) || len(gone) != len(want) {
		t.Errorf("got %v refused, want %v", gone, want)
	}
	free := door.Screening[tags.Set]{Peer: new(door.Peer), Left: wishes}
	if steps, done := free.Run(1); steps != 0 || !done || len(free.Pass) != len(wishes) {
		t.Errorf("without Access: got %d of %d sets, %d steps", len(free.Pass), len(wishes), steps)
	}
}

// timers is the timer of an alarm.Clock.
type timers struct{ *time.Timer }

func (x timers) StartOnce(d time.Duration) error { x.Reset(d); return nil }

func (x timers) Close() error { x.Stop(); return nil }

func TestDoor_reviews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, r := newDoor(t, "subscribe", "5-9")
		var loop sync.Mutex // held by what runs on the loop
		var alarms alarm.Clock
		if err := alarm.Open(&alarms, func(ring func()) (timers, error) {
			x := timers{time.AfterFunc(time.Hour, func() {
				loop.Lock()
				defer loop.Unlock()
				ring()
			})}
			x.Stop()
			return x, nil
		}); err != nil {
			t.Fatal(err)
		}
		reviews := 0
		d.Open(func(f func()) bool { f(); return true }, &alarms, func() { reviews++ })
		loop.Lock()
		defer loop.Unlock()
		pass := func(d time.Duration) {
			loop.Unlock()
			time.Sleep(d)
			synctest.Wait()
			loop.Lock()
		}
		r.changed()
		if reviews != 1 {
			t.Errorf("got %d reviews after a change, want 1", reviews)
		}
		began := time.Now()
		for _, end := range []time.Duration{time.Hour, time.Minute, time.Hour} { // the second one ends first
			if _, err := d.Enter(of("peer", began.Add(end)), acl.Subscribe); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Minute)
		if reviews != 1 {
			t.Error("a certificate is looked at before its end")
		}
		pass(time.Second)
		if reviews != 2 {
			t.Errorf("got %d reviews after the end of a certificate, want 2", reviews)
		}
		p, _ := d.Enter(of("peer", began.Add(time.Hour)), acl.Subscribe)
		if err := d.Expired(p.Identity()); err != nil {
			t.Error(err)
		}
		pass(time.Hour)
		if reviews != 3 {
			t.Errorf("got %d reviews after the end of the next one, want 3", reviews)
		}
		if d.Close(); r.changed != nil {
			t.Error("a closed door goes on watching")
		}
		if err := alarms.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestDoor_tells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _ := newDoor(t, "subscribe", "5-9")
		peer := &identity.Peer{Principal: called(t, "cn:peer")}
		r := door.Refusal{Who: peer.Principal, Action: acl.Subscribe, Tags: tags.Of(1)}
		told, due := d.Tell(r, peer)
		if !due || told.Rule != "nearest rule" || told.Times != 1 {
			t.Errorf("got %+v, %v, want it told with its rule", told, due)
		}
		for range 3 {
			if _, due = d.Tell(r, peer); due {
				t.Error("it is told again at once")
			}
		}
		other := r
		other.Tags = tags.Of(7) // this side would allow it: the other one has another policy
		if told, due = d.Tell(other, nil); !due || told.Rule != "" {
			t.Errorf("got %+v, %v, want it told without a rule", told, due)
		}
		time.Sleep(time.Hour)
		if told, due = d.Tell(r, peer); !due || told.Times != 4 || d.Told() != 6 {
			t.Errorf("got %d times, %v, of %d, want 4 of 6", told.Times, due, d.Told())
		}
	})
}

func TestRefusal_text(t *testing.T) {
	var many []tags.Set
	for i := range 100 {
		many = append(many, tags.Of(tags.Tag(3*i)))
	}
	full := door.Refusal{Who: called(t, "cn:peer"), Action: acl.Send, Tags: tags.Of(1), Rule: "a rule", Times: 3}
	for _, x := range []struct {
		r    door.Refusal
		want []string
	}{
		{full, []string{"cn:peer may not ", door.NoRule, "; a rule", " (3 times)"}},
		{door.Refusal{Who: full.Who, Tags: tags.Union(many...)}, []string{" and others", ",…"}},
		{door.Refusal{Who: full.Who}, []string{"anything here", "TAGS"}},
	} {
		for _, part := range x.want {
			if !strings.Contains(x.r.String(), part) {
				t.Errorf("got %q, want it with %q", x.r, part)
			}
		}
	}
	if out := full.Outside().String(); strings.Contains(out, "a rule") || strings.Contains(out, "times") {
		t.Errorf("got %q, want nothing of the policy", out)
	}
}

func TestDoor_signed(t *testing.T) {
	d, _ := newDoor(t, "subscribe", "5-9")
	peer := &identity.Peer{Principal: called(t, "cn:peer")}
	for signer, want := range map[string]bool{"": true, "cn:peer": true, "cn:other": false} {
		if got := d.Signed(signer, peer); got != want {
			t.Errorf("signed by %q: got %v, want %v", signer, got, want)
		}
	}
	if !d.Signed("cn:other", &identity.Peer{}) {
		t.Error("a peer without a certificate is not known to be another one")
	}
	other := &identity.Peer{Principal: called(t, "cn:other")}
	if !door.Same(nil, peer) || !door.Same(peer, nil) || !door.Same(peer, &identity.Peer{Principal: peer.Principal}) || door.Same(peer, other) {
		t.Error("want two peers to be the same unless both are known and differ")
	}
}
