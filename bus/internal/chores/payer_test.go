package chores

import (
	"slices"
	"testing"
)

// Payers that use up a slice rest, one slice each if they have caused as much again.
func TestPayersThatUseUpASliceTakeTurns(t *testing.T) {
	var p postbox
	c := New(p.post)
	var a, b Payer
	var log []string
	rest := func(name string, x *Payer) {
		x.Rest(&c, func() { log = append(log, "pause "+name) }, func() { log = append(log, "resume "+name) })
	}
	if !a.Spend(&c, SliceSteps/2) {
		t.Error("half of the slice: got nothing left")
	}
	if b.Spend(&c, SliceSteps) {
		t.Error("more than the slice: got something left")
	}
	rest("a", &a)
	rest("b", &b)
	rest("b", &b) // it rests already
	if want := []string{"pause a", "pause b"}; !slices.Equal(log, want) {
		t.Errorf("at once: got %v, want %v", log, want)
	}
	p.turn()
	if want := []string{"pause a", "pause b", "resume a", "resume b"}; !slices.Equal(log, want) {
		t.Errorf("in the next slice: got %v, want %v", log, want)
	}
	if c.budget >= 0 {
		t.Errorf("both have paid in advance: got %d left, want less than nothing", c.budget)
	}
	if a.Spend(&c, 1); c.Total != uint64(2*(SliceSteps/2+SliceSteps)+2) {
		t.Errorf("got %d steps in all, want what was paid for not to count again", c.Total)
	}
	p.turn()
	log = nil
	rest("a", &a) // which has caused nothing in this slice
	if want := []string{"pause a", "resume a"}; !slices.Equal(log, want) {
		t.Errorf("a slice later: got %v, want %v", log, want)
	}
}

// What was paid for is not counted again in its slice, and what is more is.
func TestWhatWasPaidForIsFree(t *testing.T) {
	var p postbox
	c := New(p.post)
	var a Payer
	a.Spend(&c, 100)
	a.Rest(&c, func() {}, func() {})
	before := c.Total // with what was paid in advance
	a.Spend(&c, 60)
	a.Spend(&c, 60)
	if got := c.Total - before; got != 20 {
		t.Errorf("got %d steps counted, want 20 of 120, since 100 are paid for", got)
	}
}

// A payer that rests when its queue is stopped does not go on.
func TestAPayerOfAStoppedQueueGoesOnResting(t *testing.T) {
	var p postbox
	c := New(p.post)
	var a Payer
	a.Spend(&c, 2*SliceSteps)
	a.Rest(&c, func() {}, func() { t.Error("resumed") })
	c.Stop()
	for p.turn() {
	}
}
