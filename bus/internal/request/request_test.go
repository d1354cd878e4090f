// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"testing"

	"tagbus/tags"
)

type req = Request[string]

// Each line is a way to a state, what happens there, and what is owed then.
func TestTransitionsOfARequest(t *testing.T) {
	set := func(list ...tags.Tag) tags.Set { return tags.Of(list...) }
	type state struct {
		sent, active, acked tags.Set
		unanswered, current bool
		denied, settled     bool
	}
	ask := func(r *req) { r.Ask() }
	acknowledged := func(r *req) { r.Acknowledged() }
	refused := func(r *req) { r.Refused(errors.New("no")) }
	leave := func(r *req) { r.Leave() }
	lost := func(r *req) { r.Disconnected(false) }
	want := func(list ...tags.Tag) func(*req) { return func(r *req) { r.Rewant(set(list...)) } }
	active := []func(*req){ask, acknowledged}
	resumable := append(active[:2:2], lost)
	for _, x := range []struct {
		name string
		way  []func(*req) // from a new request that wants 1 and 2
		then func(*req)
		want state
	}{
		{"asked for", nil, ask, state{sent: set(1, 2), unanswered: true, settled: true}},
		{"acknowledged", []func(*req){ask}, acknowledged, state{sent: set(1, 2), active: set(1, 2), acked: set(1, 2), current: true, settled: true}},
		{"refused", []func(*req){ask}, refused, state{sent: set(1, 2), denied: true, settled: true}},
		{"refused, wants something else", []func(*req){ask, refused}, want(1), state{sent: set(1, 2), denied: true}},
		{"refused, asked again", []func(*req){ask, refused, want(1)}, ask, state{sent: set(1), unanswered: true, settled: true}},
		{"wants more while it is asked for", []func(*req){ask, want(1, 2, 3)}, acknowledged, state{sent: set(1, 2), active: set(1, 2), acked: set(1, 2)}},
		{"wants less while it is asked for", []func(*req){ask, want(1)}, acknowledged, state{sent: set(1, 2), active: set(1, 2), acked: set(1)}},
		{"wants less", active, want(1), state{sent: set(1, 2), active: set(1, 2), acked: set(1)}},
		{"wants the same", active, want(2, 1), state{sent: set(1, 2), active: set(1, 2), acked: set(1, 2), current: true, settled: true}},
		{"active, more is refused", append(active[:2:2], want(1, 2, 3), ask), refused, state{sent: set(1, 2, 3), active: set(1, 2), acked: set(1, 2), denied: true, settled: true}},
		{"leaves", active, leave, state{sent: set(1, 2), active: set(1, 2), acked: set(1, 2), unanswered: true, current: true, settled: true}},
		{"leaves before the answer", []func(*req){ask}, leave, state{sent: set(1, 2), unanswered: true, settled: true}},
		{"has left", append(active[:2:2], leave), (*req).Ended, state{current: true}},
		{"wants nothing here", active, (*req).Drop, state{sent: set(1, 2), active: set(1, 2), current: true, settled: true}},
		{"connection lost", active, lost, state{acked: set(1, 2), current: true}},
		{"connection lost before the answer", []func(*req){ask}, lost, state{}},
		{"connection lost after a refusal", []func(*req){ask, refused}, lost, state{}},
		{"connection lost, closed", active, func(r *req) { r.Disconnected(true) }, state{current: true}},
		{"resumes", resumable, ask, state{sent: set(1, 2), acked: set(1, 2), unanswered: true, current: true, settled: true}},
		{"resumes, wants more", append(resumable[:3:3], want(1, 2, 3)), ask, state{sent: set(1, 2), acked: set(1, 2), unanswered: true}},
		{"resumes, wants less", append(resumable[:3:3], want(2, 3)), ask, state{sent: set(2), acked: set(2), unanswered: true}},
		{"wants only what is not owed", append(resumable[:3:3], want(3)), ask, state{sent: set(3), unanswered: true, settled: true}},
		{"resumed, refused for more", append(resumable[:3:3], want(1, 2, 3), ask), refused, state{sent: set(1, 2), acked: set(1, 2), denied: true, settled: true}},
	} {
		r := New("", 1, 0, set(1, 2))
		for _, step := range x.way {
			step(r)
		}
		x.then(r)
		got := state{r.sent, r.active, r.acked, r.subscribing || r.leaving, r.current, r.denied != nil, r.Settled()}
		if !got.sent.Equal(x.want.sent) || !got.active.Equal(x.want.active) || !got.acked.Equal(x.want.acked) ||
			got.unanswered != x.want.unanswered || got.current != x.want.current || got.denied != x.want.denied || got.settled != x.want.settled {
			t.Errorf("%s:\ngot  %v\nwant %v", x.name, got, x.want)
		}
	}
}

// What a transition tells its caller: whether a Subscribe resumes, whether its answer
// is the second one, and whether an Unsubscribe is due.
func TestARequestTellsWhatIsDue(t *testing.T) {
	r := New("", 1, 0, tags.Of(1))
	expect := func(what string, got, want bool) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	expect("an Unsubscribe is due before anything was asked for", r.Leave(), false)
	expect("the first Subscribe resumes", r.Ask(), false)
	expect("an Unsubscribe is due before the answer", r.Leave(), false)
	expect("the first answer is the second one", r.Acknowledged(), false)
	r.Disconnected(false)
	expect("an Unsubscribe is due without a connection", r.Leave(), false)
	expect("a Subscribe on the next connection resumes", r.Ask(), true)
	expect("its answer is the second one", r.Acknowledged(), true)
	expect("a Subscribe on the same connection resumes", r.Ask(), false)
	expect("its answer is the second one of the connection", r.Acknowledged(), false)
	expect("an Unsubscribe is due", r.Leave(), true)
	expect("another Unsubscribe is due", r.Leave(), false)
	r.Ended()
	expect("a Subscribe after the end resumes", r.Ask(), false)
}
