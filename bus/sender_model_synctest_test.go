// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/subscription"
	"tagbus/tags"
)

// The model of the other direction: two senders and their successors, two
// places at which receivers with their tags come and go, sometimes with a rival
// for the same tags elsewhere, and everything that can happen to them. What must hold when all is quiet, for every sender,
// receiver and tag: sent since the acknowledgement = delivered + reported lost;
// in order, each message at one receiver and once, bytes equal; both ends with
// the same counts by cause; all pages back in the pool. And at any time: SendAcked
// returns nil only when the handler has returned, says that a message is lost
// only when it never comes, and returns when its time is over.

const (
	senderModelSenders = 2
	senderModelPlaces  = 2
	senderModelKinds   = 22
)

type senderOp struct {
	Kind   int // of the switch in senderRun.step
	Who    int // sender
	Tag    int // and with it the place
	Amount int
}

func senderOps() *rapid.Generator[[]senderOp] {
	return programsOf(func(t *rapid.T) senderOp {
		return senderOp{
			Kind:   evenly(t, "kind", 5) % senderModelKinds,
			Who:    rapid.IntRange(0, senderModelSenders-1).Draw(t, "who"),
			Tag:    rapid.IntRange(0, modelTags-1).Draw(t, "tag"),
			Amount: rapid.IntRange(1, 60).Draw(t, "amount"),
		}
	})
}

// evenly draws a number of so many bits. Those of rapid.IntRange are mostly
// small, and what has a large one would hardly ever happen.
func evenly(t *rapid.T, label string, bits int) (n int) {
	for range bits {
		n *= 2
		if rapid.Bool().Draw(t, label) {
			n++
		}
	}
	return n
}

// senderCase is what a run depends on.
type senderCase struct {
	ops      []senderOp
	policies [senderModelPlaces]bus.Policy
	cache    int  // messages of each tag that a sender keeps
	lazy     bool // senders find receivers when they use a tag first
	slice    int  // steps that the loop works at once
	broken   *breaker
}

func senderCases() *rapid.Generator[senderCase] {
	return rapid.Custom(func(t *rapid.T) senderCase {
		c := senderCase{ops: senderOps().Draw(t, "ops"), lazy: rapid.Bool().Draw(t, "lazy")}
		c.cache = rapid.SampledFrom([]int{0, 0, 1, 5, 100}).Draw(t, "cache")
		c.slice = rapid.SampledFrom([]int{bus.SliceSteps, 1, 40}).Draw(t, "slice")
		for i := range c.policies {
			c.policies[i] = rapid.SampledFrom(modelPolicies).Draw(t, "policy")
		}
		return c
	})
}

func TestSender_model(t *testing.T) {
	for range modelRuns(t, senderModelRounds) {
		rapid.Check(t, func(rt *rapid.T) {
			for _, p := range senderCases().Draw(rt, "case").run(t) {
				rt.Error(p)
			}
		})
	}
}

// Calls of SendAcked wait for a receiver that is lost. The rival that comes has what they send after
// that, and not what they sent before it.
func TestSender_modelOfWaitingCalls(t *testing.T) {
	c := senderCase{slice: 1, ops: []senderOp{
		{1, 1, 0, 12},
		{19, 1, 2, 11},
		{18, 1, 4, 46},
		{8, 1, 0, 1},
		{2, 1, 1, 1},
		{7, 0, 0, 6},
		{2, 1, 0, 45},
		{8, 0, 4, 57},
		{15, 1, 2, 11},
		{3, 1, 1, 4},
		{5, 0, 4, 34},
		{11, 0, 3, 57},
		{18, 0, 3, 30},
		{6, 0, 1, 1},
		{0, 1, 0, 60},
		{18, 0, 1, 28},
		{8, 0, 0, 29},
		{15, 0, 0, 16},
		{20, 0, 1, 38},
		{0, 1, 0, 4},
	}}
	for i := range c.policies {
		c.policies[i] = bus.Policy{Kind: bus.Disconnect, After: 500 * time.Millisecond}
	}
	for _, p := range c.run(t) {
		t.Error(p)
	}
}

// A receiver has lost its senders, which do not know that yet, and drains. The senders tell what they had accepted for it.
func TestSender_modelOfAReceiverThatHasLostItsSenders(t *testing.T) {
	c := senderCase{cache: 5, slice: 40, ops: []senderOp{
		{3, 0, 0, 16},
		{7, 0, 4, 58},
		{8, 0, 2, 2},
		{2, 1, 1, 20},
		{0, 1, 1, 6},
		{0, 0, 0, 22},
		{14, 1, 2, 4},
		{8, 1, 0, 3},
		{3, 1, 0, 21},
		{6, 0, 1, 26},
		{8, 1, 2, 52},
		{8, 1, 1, 39},
		{2, 1, 0, 6},
		{9, 1, 0, 7},
		{7, 0, 0, 6},
		{0, 1, 2, 2},
		{16, 1, 0, 1},
		{9, 1, 4, 27},
		{3, 1, 2, 38},
	}}
	c.policies = [senderModelPlaces]bus.Policy{{Kind: bus.Sample, Every: 3}, {Kind: bus.Disconnect, After: 500 * time.Millisecond}}
	for _, p := range c.run(t) {
		t.Error(p)
	}
}

// TestSender_theModelCatches runs broken variants of the bus until the model
// finds something, which it must.
func TestSender_theModelCatches(t *testing.T) {
	if testkit.Race {
		t.Skip("shows what the model finds, which is the same under -race")
	}
	for _, test := range []struct {
		name   string
		broken *breaker
	}{
		{"a notice of loss that is lost", &breaker{kind: subscription.KindLost}},
		{"a notice that comes twice", &breaker{kind: subscription.KindLost, twice: true}},
		{"a page that is lost", &breaker{kind: subscription.KindPage}},
		{"a page that comes twice", &breaker{kind: subscription.KindPage, twice: true}},
		{"positions that are lost", &breaker{kind: subscription.KindPositions}},
		{"an answer to the totals that is lost", &breaker{kind: subscription.KindMissed}},
		{"an answer to the totals that comes twice", &breaker{kind: subscription.KindMissed, twice: true}},
		{"a key that is skipped", &breaker{key: true}},
		{"an acknowledgement that is lost", &breaker{kind: subscription.KindAck}},
		{"an acknowledgement of what was only sent", &breaker{early: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			const most = 300
			for seed := range most {
				c := senderCases().Example(seed)
				if c.broken = test.broken.after(1 + seed%3); len(c.run(t)) > 0 {
					return
				}
			}
			t.Errorf("%d runs have found nothing", most)
		})
	}
}

// run returns what is wrong; see modelCase.run.
func (c senderCase) run(t *testing.T) (problems []string) {
	countModel(len(c.ops))
	defer bus.SetSliceSteps(c.slice)()
	synctest.Test(t, func(t *testing.T) { problems = newSenderRun(t, c).run(c.ops) })
	return problems
}

// senderModelPlace returns where the receiver of a tag is. The last tag has
// none.
func senderModelPlace(tag tags.Tag) int { return int(tag) / 2 }
