// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"tagbus/bus"
	"tagbus/subscription"
)

// What hostile peers do to those that go by a policy.

// hostileRights are what the hostile ones may do.
var hostileRights = []string{
	`"subscribe":"*","publish":"*","describe":"*"`, `"subscribe":"0-1023","publish":"512-2047","describe":"7"`,
	`"send":"1"`, `"subscribe":"1,3,5,7,9,11-99,2040-4000","publish":"2,4,6,8,512-600"`,
}

// limit makes all go by a policy that lets the honest ones do everything.
func (h *hostileBed) limit() { h.access = h.site(hostilePolicy(0)) }

func hostilePolicy(kind byte) string {
	const honest = `{"rules":[{"who":"cn:honest","subscribe":"*","publish":"*","describe":"*"},{"who":"cn:rogue",`
	return honest + hostileRights[int(kind)%len(hostileRights)] + `}]}`
}

// as returns what a process that is opened next goes by.
func (h *hostileBed) as(name string) bus.Access {
	if h.access == nil {
		return nil
	}
	return h.access.as(name)
}

// policy exchanges the policy.
func (h *hostileBed) policy() {
	kind := h.byte()
	if h.access != nil && h.round < mostCalls { // each posts two functions
		p := h.access.parse(hostilePolicy(kind))
		h.access.swap(func() { h.access.policy = p })
	}
}

// rights tells the subscriber what it may have.
func (x *roguePublishers) rights(r *roguePublisher) {
	how := x.byte()
	set := x.set()
	if how&2 != 0 {
		set = set[:len(set)/2]
	}
	r.control(&subscription.Rights{Set: set, More: how&1 != 0})
}

// FuzzHostileSubscriberAccess is FuzzHostileSubscriber with a policy, which the program
// exchanges.
func FuzzHostileSubscriberAccess(f *testing.F) {
	for _, seed := range append(hostileSubscriberSeeds(), accessSubscriberSeeds()...) {
		f.Add(slices.Concat(seed...))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) > mostOperations*operationBytes {
			t.Skip("longer than a program is")
		}
		t.Cleanup(bus.SetSliceSteps(hostileSlice))
		synctest.Test(t, func(t *testing.T) {
			x := newRogueSubscribers(t, input, true)
			x.run(x.s, x.do)
			x.checkAll()
		})
	})
}

// FuzzHostilePublisherAccess is FuzzHostilePublisher with a policy, which the program
// exchanges.
func FuzzHostilePublisherAccess(f *testing.F) {
	for _, seed := range append(hostilePublisherSeeds(), accessPublisherSeeds()...) {
		f.Add(slices.Concat(seed...))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) > mostOperations*operationBytes {
			t.Skip("longer than a program is")
		}
		t.Cleanup(bus.SetSliceSteps(hostileSlice))
		synctest.Test(t, func(t *testing.T) {
			x := newRoguePublishers(t, input, true)
			x.run(x.s, x.do)
			x.checkAll()
		})
	})
}

func accessSubscriberSeeds() [][][]byte {
	const single, some, everything, ranges = 0, 1, 3, 5
	return [][][]byte{
		{ // denied before the hello, and again and again behind it
			byPeer(0, subDenied, some, 0, 255), byPeer(0, subConnect, 0, 0), byPeer(0, subRepeat, 200), byPeer(0, subDenied, some, 0, 255),
			byPeer(0, subDenied, everything), byPeer(0, subMutate, 0, 3), byPeer(0, subDenied, ranges, 0, 60), byPeer(0, subWait, 3),
		},
		{ // the policy changes while much is subscribed to, and the peer does not comply
			byPeer(0, subConnect, 0, 0), byPeer(1, subConnect, 0, 0), byPeer(0, subWait, 1), byPeer(0, subRepeat, 100), byPeer(0, subSubscribe, 1, 1, 0, 0, some, 0, 255),
			byPeer(0, subPolicy, 1), byPeer(1, subRepeat, 100), byPeer(1, subSubscribe, 1, 1, 0, 0, ranges, 0, 60), byPeer(0, subWait, 3), byPeer(0, subPolicy, 0),
			byPeer(0, subWait, 4), byPeer(0, subConnect, 0, 0), byPeer(0, subRepeat, 15), byPeer(0, subPolicy, 3), byPeer(0, subWait, 6), byPeer(0, subPolicy, 2), byPeer(0, subWait, 2),
		},
		{ // an observer whose rights end
			byPeer(0, subObserve, 0, 0), byPeer(0, subWait, 1), byPeer(0, subDescribe, 1, 9, 9, everything), byPeer(0, subPolicy, 2), byPeer(0, subDescribe, 2, 9, 9, single, 7), byPeer(0, subWait, 3),
		},
	}
}

func accessPublisherSeeds() [][][]byte {
	const some, everything, ranges = 1, 3, 5
	listed := func(peer int) []byte {
		return slices.Concat(byPeer(peer, pubGreet, 8), byPeer(peer, pubAnnounce, 0, some, 0, 255), byPeer(peer, pubWait, 2))
	}
	flip := func(set ...byte) []byte { return byPeer(0, pubRights, set...) }
	return [][][]byte{
		{ // rights again and again: all, some, in parts without end, cut
			listed(0), byPeer(0, pubRepeat, 100), flip(0, everything), byPeer(0, pubRepeat, 100), flip(0, some, 0, 255), byPeer(0, pubWait, 2),
			byPeer(0, pubRepeat, 200), flip(1, ranges, 0, 60), byPeer(0, pubWait, 2), listed(0), flip(2, ranges, 0, 60), byPeer(0, pubWait, 3),
		},
		{ // while requests are under way
			byPeer(0, pubObey, 1), listed(0), flip(0, some, 0, 255), byPeer(0, pubWait, 1), flip(0, some, 1, 9), byPeer(0, pubSubscribed, 0), byPeer(0, pubRefused, 0, 9), flip(0, everything),
			byPeer(0, pubChange, 0, ranges, 0, 20), flip(0, some, 2, 9), byPeer(0, pubUnsubscribed, 0), byPeer(0, pubSubscribed, 1), byPeer(0, pubWait, 3),
		},
		{ // none before the hello, or none at all; and the policy of the subscriber changes
			listed(0), byPeer(0, pubWait, 3), byPeer(0, pubPolicy, 1), byPeer(0, pubWait, 2), byPeer(0, pubRepeat, 15), byPeer(0, pubPolicy, 3), flip(0, everything), byPeer(0, pubWait, 3),
			byPeer(0, pubPolicy, 2), byPeer(0, pubWait, 5), byPeer(0, pubPolicy, 0), byPeer(0, pubWait, 6), listed(1), byPeer(1, pubRights, 0, some, 0, 9), byPeer(1, pubWait, 3),
		},
	}
}
