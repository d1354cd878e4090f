// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"tagbus/bus"
	"tagbus/tags"
)

// The model of access: two publishers and a few subscribers, a policy that changes, and
// everything that happens besides. What must hold: no message comes of a tag without the
// rights to it, neither of one that was published before there were any (unless it is
// replayed); and while the rights of a subscription to a tag last, every message of it is
// delivered or reported, whatever happens to the other tags.

const (
	accessTags        = 4
	accessPublishers  = 2
	accessSubscribers = 2
	accessKinds       = 16
)

type accessOp struct {
	Kind, Publisher, Subscriber int
	Set                         int // bits: tags
}

// accessCase is what a run depends on.
type accessCase struct {
	ops        []accessOp
	limited    [accessPublishers]bool // the publisher goes by the policy
	careful    [accessSubscribers]bool
	duplicates bus.Duplicates
	replay     int
	slice      int
}

func accessCases() *rapid.Generator[accessCase] {
	bits := rapid.IntRange(0, 1<<accessTags-1)
	return rapid.Custom(func(t *rapid.T) (c accessCase) {
		c.ops = programsOf(func(t *rapid.T) accessOp {
			return accessOp{
				Kind:       evenly(t, "kind", 4) % accessKinds,
				Publisher:  rapid.IntRange(0, accessPublishers-1).Draw(t, "publisher"),
				Subscriber: rapid.IntRange(0, accessSubscribers-1).Draw(t, "subscriber"),
				Set:        bits.Draw(t, "set"),
			}
		}).Draw(t, "ops")
		for i := range c.limited {
			c.limited[i] = rapid.IntRange(0, 4).Draw(t, "limited") > 0
		}
		for i := range c.careful {
			c.careful[i] = rapid.IntRange(0, 4).Draw(t, "careful") > 0
		}
		c.duplicates = rapid.SampledFrom([]bus.Duplicates{bus.DuplicatesAll, bus.DuplicatesAll, bus.DuplicatesNewest, bus.DuplicatesRefuse}).Draw(t, "duplicates")
		c.replay = rapid.SampledFrom([]int{0, 0, 2}).Draw(t, "replay")
		c.slice = rapid.SampledFrom([]int{bus.SliceSteps, 1, 40}).Draw(t, "slice")
		return c
	})
}

func TestAccess_model(t *testing.T) {
	for range modelRuns(t, senderModelRounds) {
		rapid.Check(t, func(rt *rapid.T) {
			for _, p := range accessCases().Draw(rt, "case").run(t) {
				rt.Error(p)
			}
		})
	}
}

// TestAccess_found runs programs in which make search has found something.
func TestAccess_found(t *testing.T) {
	for _, test := range []struct {
		name string
		c    accessCase
	}{
		{"a policy that changes while a subscriber waits to connect again, and then wants less", accessCase{
			// The subscriber may have nothing, the publisher loses a tag, and so on: see step.
			ops:     []accessOp{{Kind: 4}, {Kind: 7, Set: 10}, {Kind: 5, Set: 13}, {Kind: 9, Set: 11}, {Kind: 5, Set: 2}, {Kind: 12, Set: 12}, {Kind: 3, Set: 14}},
			limited: [accessPublishers]bool{true, true}, careful: [accessSubscribers]bool{true, false}, slice: bus.SliceSteps,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.c.ops = append(test.c.ops, accessOp{Kind: 15})
			for _, p := range test.c.run(t) {
				t.Error(p)
			}
		})
	}
}

func (c accessCase) run(t *testing.T) (problems []string) {
	countModel(len(c.ops))
	defer bus.SetSliceSteps(c.slice)()
	synctest.Test(t, func(t *testing.T) {
		r := newAccessRun(t, c)
		for _, op := range c.ops {
			r.step(op)
		}
		r.quiet()
		problems = r.problems
	})
	return problems
}

// bitSet returns the tags of a model.
func bitSet(bits int) tags.Set {
	var list []tags.Tag
	for tag := range accessTags {
		if bits>>tag&1 == 1 {
			list = append(list, tags.Tag(tag))
		}
	}
	return tags.Of(list...)
}

// policy returns the policy of the model as its file has it.
func (r *accessRun) policy() string {
	text := ""
	rule := func(who string, i int, action string, bits int) {
		if bits != 0 {
			text += fmt.Sprintf(`,{"who":"cn:%s%d","%s":"%s"}`, who, i, action, bitSet(bits))
		}
	}
	for i, bits := range r.mayPublish {
		rule("p", i, "publish", bits)
	}
	for i, bits := range r.maySubscribe {
		rule("s", i, "subscribe", bits)
	}
	return `{"rules":[{"who":"cn:nobody","publish":"99"}` + text + `]}`
}
