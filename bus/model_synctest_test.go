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
)

// The model: a publisher and its successors, a few subscribers with one
// subscription each, and everything that can happen to them. What must hold when
// all is quiet, for every subscriber, publisher and tag: published since the
// acknowledgement = delivered + reported lost; in order, each once, bytes equal;
// both ends with the same counts by cause; all pages back in the pool.

var modelPolicies = []bus.Policy{
	{},
	{Kind: bus.DropNewest},
	{Kind: bus.DropOldest},
	{Kind: bus.Latest},
	{Kind: bus.Sample, Every: 3},
	{Kind: bus.Disconnect, After: 500 * time.Millisecond},
}

const (
	modelTags        = 5
	modelSubscribers = 3
	modelKinds       = 21
)

type modelOp struct {
	Kind   int // of the switch in modelRun.step
	Who    int // subscriber
	Tag    int
	Amount int
}

func modelOps() *rapid.Generator[[]modelOp] {
	return programsOf(func(t *rapid.T) modelOp {
		return modelOp{
			Kind:   evenly(t, "kind", 5) % modelKinds,
			Who:    rapid.IntRange(0, modelSubscribers-1).Draw(t, "who"),
			Tag:    rapid.IntRange(0, modelTags-1).Draw(t, "tag"),
			Amount: rapid.IntRange(1, 60).Draw(t, "amount"),
		}
	})
}

// modelCase is what a run depends on.
type modelCase struct {
	ops      []modelOp
	streams  int
	policies [modelSubscribers]bus.Policy
	cache    int  // messages of each tag that the publisher keeps
	slice    int  // steps that the loop works at once
	inPart   bool // direct sends are taken in part
	broken   *breaker
}

func modelCases() *rapid.Generator[modelCase] {
	return rapid.Custom(func(t *rapid.T) modelCase {
		c := modelCase{ops: modelOps().Draw(t, "ops"), streams: rapid.SampledFrom([]int{1, 2, 64}).Draw(t, "streams")}
		c.cache = rapid.SampledFrom([]int{0, 0, 1, 5, 100}).Draw(t, "cache")
		c.slice = rapid.SampledFrom([]int{bus.SliceSteps, 1, 40}).Draw(t, "slice")
		c.inPart = rapid.Bool().Draw(t, "in part")
		for i := range c.policies {
			c.policies[i] = rapid.SampledFrom(modelPolicies).Draw(t, "policy")
		}
		return c
	})
}

func TestSubscriber_model(t *testing.T) {
	for range modelRuns(t, modelRounds) {
		rapid.Check(t, func(rt *rapid.T) {
			for _, p := range modelCases().Draw(rt, "case").run(t) {
				rt.Error(p)
			}
		})
	}
}

// TestSubscriber_theModelCatches runs broken variants of the bus until the model finds
// something, which it must.
func TestSubscriber_theModelCatches(t *testing.T) {
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
	} {
		t.Run(test.name, func(t *testing.T) {
			const most = 300
			for seed := range most {
				c := modelCases().Example(seed)
				if c.broken = test.broken.after(1 + seed%3); len(c.run(t)) > 0 {
					return
				}
			}
			t.Errorf("%d runs have found nothing", most)
		})
	}
}

// run returns what is wrong, for the caller to report: a bubble runs on a goroutine of
// its own, on which rapid must not be called.
func (c modelCase) run(t *testing.T) (problems []string) {
	countModel(len(c.ops))
	defer bus.SetSliceSteps(c.slice)()
	synctest.Test(t, func(t *testing.T) { problems = newModelRun(t, c).run(c.ops) })
	return problems
}
