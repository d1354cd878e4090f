// SPDX-License-Identifier: Apache-2.0

package rights_test

import (
	"testing"

	"tagbus/bus/internal/group"
	"tagbus/bus/internal/rights"
	"tagbus/identity"
	"tagbus/subscription"
	"tagbus/tags"
)

// grant says what the publisher lets this side have.
func grant(t *testing.T, r *rights.Rights, set tags.Set) {
	t.Helper()
	r.Begin(true)
	parts, err := group.RightsParts(set, set)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range parts {
		if _, _, err := r.Take(m); err != nil {
			t.Fatal(err)
		}
	}
}

// What may be had of a publisher that serves 2 to 5, if 1 to 4 are wanted.
func TestRights_whatMayBeHad(t *testing.T) {
	wanted, serves := tags.Of(1, 2, 3, 4), tags.Of(2, 3, 4, 5)
	permit := func(_ *testing.T, r *rights.Rights) { r.Permit(new(identity.Peer), tags.Of(2, 3, 9)) }
	granted := func(t *testing.T, r *rights.Rights) { grant(t, r, tags.Of(3, 4)) }
	bar := func(_ *testing.T, r *rights.Rights) { r.Bar(true) }
	for _, x := range []struct {
		name                     string
		does                     []func(*testing.T, *rights.Rights)
		permitted, both, missing tags.Set
		has, rest                tags.Set
		limited, free            bool
	}{
		{name: "no policy", permitted: wanted, both: wanted, has: wanted, missing: tags.Of(2, 3, 4), free: true},
		{
			name: "the policy of this side", does: []func(*testing.T, *rights.Rights){permit},
			permitted: tags.Of(2, 3), both: tags.Of(2, 3), missing: tags.Of(2, 3), has: tags.Of(2, 3), rest: tags.Of(1, 4),
		},
		{
			name: "that of the publisher", does: []func(*testing.T, *rights.Rights){granted},
			permitted: wanted, both: tags.Of(3, 4), missing: tags.Of(2), has: tags.Of(3, 4), rest: tags.Of(1, 2), limited: true,
		},
		{
			name: "both", does: []func(*testing.T, *rights.Rights){permit, granted},
			permitted: tags.Of(2, 3), both: tags.Of(3), missing: tags.Of(2), has: tags.Of(3), rest: tags.Of(1, 2, 4), limited: true,
		},
		{
			name: "it is not connected any more", does: []func(*testing.T, *rights.Rights){permit, granted, func(_ *testing.T, r *rights.Rights) { r.Forget() }},
			permitted: wanted, both: tags.Of(3, 4), missing: tags.Of(2), has: tags.Of(3, 4), rest: tags.Of(1, 2), limited: true,
		},
		{
			name: "a connection without limits", does: []func(*testing.T, *rights.Rights){granted, func(_ *testing.T, r *rights.Rights) { r.Begin(false) }},
			permitted: wanted, both: wanted, missing: tags.Of(2, 3, 4), has: wanted, free: true,
		},
		{
			name: "barred", does: []func(*testing.T, *rights.Rights){bar},
			permitted: wanted, both: wanted, missing: tags.Of(2, 3, 4), rest: wanted, free: true,
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			var r rights.Rights
			for _, do := range x.does {
				do(t, &r)
			}
			has, rest := r.Divide(wanted)
			for _, y := range []struct {
				what      string
				got, want tags.Set
			}{
				{"permitted", r.Permitted(wanted), x.permitted},
				{"both", r.Both(wanted), x.both},
				{"missing", r.Missing(wanted, serves), x.missing},
				{"has", has, x.has},
				{"rest", rest, x.rest},
			} {
				if !y.got.Equal(y.want) {
					t.Errorf("%s: got %v, want %v", y.what, y.got, y.want)
				}
			}
			if r.Limited() != x.limited || r.Awaited() {
				t.Errorf("limited %v, awaited %v; want %v, false", r.Limited(), r.Awaited(), x.limited)
			}
			if free := r.Cost(wanted) == 0; free != x.free {
				t.Errorf("a comparison is free: %v, want %v", free, x.free)
			}
		})
	}
}

// Nothing is asked for until the publisher has said all that it lets this side have. What
// it has said before holds meanwhile.
func TestRights_areAwaited(t *testing.T) {
	var r rights.Rights
	grant(t, &r, tags.Of(1))
	r.Begin(true)
	if !r.Awaited() || !r.Both(tags.Of(1, 2)).Equal(tags.Of(1)) {
		t.Errorf("a new connection: awaited %v, may have %v", r.Awaited(), r.Both(tags.Of(1, 2)))
	}
	b, err := tags.Of(2).MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if _, complete, err := r.Take(&subscription.Rights{Set: b[:1], More: true}); complete || err != nil || !r.Awaited() {
		t.Errorf("a part: complete %v, %v, awaited %v", complete, err, r.Awaited())
	}
	set, complete, err := r.Take(&subscription.Rights{Set: b[1:]})
	if !complete || err != nil || !set.Equal(tags.Of(2)) || r.Awaited() || !r.Both(tags.Of(1, 2)).Equal(set) {
		t.Errorf("the rest: got %v, complete %v, %v, awaited %v", set, complete, err, r.Awaited())
	}
	r.Begin(true)
	if _, complete, err := r.Take(&subscription.Rights{Set: []byte{0xff}}); complete || err == nil || !r.Awaited() {
		t.Errorf("no set: complete %v, %v, awaited %v", complete, err, r.Awaited())
	}
}

func TestRights_Bar(t *testing.T) {
	var r rights.Rights
	for i, x := range []struct{ barred, changed bool }{{false, false}, {true, true}, {true, false}, {false, true}} {
		if changed := r.Bar(x.barred); changed != x.changed {
			t.Errorf("call %d: changed %v, want %v", i+1, changed, x.changed)
		}
	}
}
