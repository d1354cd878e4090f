// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"

	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/workqueue"
	"tagbus/internal/testkit"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// leaveBed is a fanout with some known tags, and crowds of subscribers.
type leaveBed struct {
	*bytesBed
	tags int
}

func newLeaveBed(t *testing.T, known, buffers int) *leaveBed {
	t.Helper()
	const pageBytes = 4096
	pool, err := netio.NewPool(buffers, pageBytes)
	if err != nil {
		t.Fatal(err)
	}
	all, err := tags.Range(0, tags.Tag(known-1))
	if err != nil {
		t.Fatal(err)
	}
	b := &leaveBed{newBytesBed(t, subscription.Policy{}, 0, Config{
		Served: all, Pool: pool, PageBytes: pageBytes, QueueBytes: 8 * pageBytes, MaxMessageBytes: 1 << 10,
	}), known}
	b.flood()
	return b
}

// flood publishes a message of each tag.
func (b *leaveBed) flood() {
	b.t.Helper()
	for tag := range b.tags {
		if err := b.fan.Publish(tags.Tag(tag), 0, []byte("x"), nil); err != nil {
			b.t.Fatalf("tag %d: %v", tag, err)
		}
	}
	b.fan.Flush()
	b.loop.turn()
}

// connect makes a connection that takes all, and completes it when told so.
func (b *leaveBed) connect() *modelBox {
	b.t.Helper()
	box := &modelBox{ep: &modelEndpoint{read: func([]byte) {}}}
	box.Init(&b.fan, box.ep, func(err error) { b.t.Fatal(err) })
	return box
}

// crowd connects subscribers that want a set, and returns what the subscription of the last
// one has cost.
func (b *leaveBed) crowd(n int, set tags.Set, policy subscription.Policy) (boxes []*modelBox, last int) {
	b.t.Helper()
	for range n {
		box := b.connect()
		last = b.want(box, set, policy)
		boxes = append(boxes, box)
	}
	return boxes, last
}

// want is subscribe, with the steps that it takes.
func (b *leaveBed) want(box *modelBox, set tags.Set, policy subscription.Policy) (steps int) {
	g := box.Subscribe([]Wish{{Request: &subscription.Subscribe{ID: 1, Lane: 1}, Set: set}}, Terms{
		Check:    func(w *Wish) (refusal, fault error) { w.Policy = policy; return nil, nil },
		Steps:    func(*Wish) int { return 1 },
		Account:  func(w *Wish) *ledger.Lane { return account(1, w) },
		HandOver: func([]tags.Set) []tags.Set { return nil },
		Entered:  func() {},
	})
	for done := false; !done; {
		var n int
		n, done = g.Run(workqueue.SliceSteps)
		steps += n
	}
	return steps
}

// end ends connections at once: their jobs take turns. It returns how many steps these take,
// and the most of one turn. between is called behind each.
func (b *leaveBed) end(boxes []*modelBox, budget int, between func()) (steps, longest int) {
	b.t.Helper()
	var jobs []workqueue.Job
	for _, box := range boxes {
		box.ep.drop()
		box.Kill()
		jobs = append(jobs, box.Leave())
	}
	for len(jobs) > 0 {
		n, done := jobs[0](budget)
		if !done {
			jobs = append(jobs, jobs[0])
		}
		jobs = jobs[1:]
		steps, longest = steps+max(n, 1), max(longest, n)
		between()
	}
	b.fan.Mu.Lock()
	for _, box := range boxes {
		box.CloseAccounts(false, 0)
		box.Free()
	}
	b.fan.Mu.Unlock()
	return steps, longest
}

// TestACrowdThatLeavesAtOnceStopsNobody: thousands of subscribers that end at once cost what
// each of them has, not all of its tags times all of the others, and the publisher goes on
// for the one that stays. It goes on even if there are more of them than there is memory for
// a page of each.
func TestACrowdThatLeavesAtOnceStopsNobody(t *testing.T) {
	const known = 500
	crowd := testkit.Fewer(600)
	all, err := tags.Range(0, known-1)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []subscription.Policy{
		{Kind: subscription.Block},
		{Kind: subscription.DropNewest},
		{Kind: subscription.DropOldest},
		{Kind: subscription.Latest},
		{Kind: subscription.Sample, Every: 2},
	} {
		t.Run(kind.String(), func(t *testing.T) {
			b := newLeaveBed(t, known, 64)
			stays := b.connect()
			b.want(stays, all, subscription.Policy{})
			boxes, _ := b.crowd(crowd, all, kind)
			if kind.Lossless() {
				b.flood()
			}
			published := 0
			publish := func() {
				for stays.ep.complete(&stays.Outbox) {
				}
				if published++; b.fan.Publish(tags.Tag(published*7%known), 0, []byte("x"), nil) != nil {
					t.Errorf("message %d was refused: the connections that have ended hold up the others", published)
				}
				if published%5 == 0 {
					b.fan.Flush()
					b.loop.turn()
				}
			}
			steps, longest := b.end(boxes, workqueue.SliceSteps/8, publish)
			t.Logf("%d steps, at most %d in a turn; %d messages meanwhile", steps, longest, published)
			if most := 20*known + 50*crowd; steps > most {
				t.Errorf("%d subscribers of %d tags that end at once: got %d steps, want at most %d", crowd, known, steps, most)
			}
			if most := workqueue.SliceSteps/8 + 4*crowd; longest > most {
				t.Errorf("got a turn of %d steps, want at most %d", longest, most)
			}
			if x := b.fan.Shape(); x.Tags[1] != known || x.Lanes != 1 || x.Routes != 1 {
				t.Errorf("got %+v, want all tags on the way to the one that stays", x)
			}
		})
	}
}

// TestASubscriptionCostsItsTagsNotTheOthers: the routes of tags that the same lanes want are
// made once.
func TestASubscriptionCostsItsTagsNotTheOthers(t *testing.T) {
	const crowd, known = 400, 500
	all, err := tags.Range(0, known-1)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []subscription.Policy{{Kind: subscription.Block}, {Kind: subscription.Latest}} {
		b := newLeaveBed(t, known, 64)
		boxes, last := b.crowd(crowd, all, kind)
		if most := 20*known + 10*crowd; last > most {
			t.Errorf("%v: the last of %d subscribers of %d tags: got %d steps, want at most %d", kind, crowd, known, last, most)
		}
		b.end(boxes, workqueue.SliceSteps, func() {})
	}
}

// TestALaneOfManyPagesIsDroppedInSlices: what waits for a connection that has ended may be
// very many small pages. Meanwhile its lane refuses nothing.
func TestALaneOfManyPagesIsDroppedInSlices(t *testing.T) {
	const pages = 3000
	b := newLeaveBed(t, 1, 256)
	b.fan.cfg.QueueBytes = 64 * pages
	box := b.connect()
	box.ep.refuses = true
	b.want(box, tags.Of(0), subscription.Policy{})
	for n := 0; n < pages && b.fan.Publish(0, 0, []byte("x"), nil) == nil; n++ {
		b.fan.Flush()
		b.loop.turn()
	}
	if err := b.fan.Publish(0, 0, make([]byte, 64*pages), nil); err == nil {
		t.Fatal("the lane has room")
	}
	waits := box.Lanes[0].queue.Len()
	_, longest := b.end([]*modelBox{box}, 100, func() {
		if err := b.fan.Publish(0, 0, []byte("x"), nil); err != nil {
			t.Fatalf("publish while the pages of a dead connection are dropped: %v", err)
		}
	})
	if waits < pages/2 || longest > 2*100 {
		t.Errorf("%d pages: got a turn of %d steps, want at most 200", waits, longest)
	}
	b.fan.Flush()
	b.loop.turn()
	if free, all := b.fan.pool.Free(), b.fan.pool.Buffers(); free != all {
		t.Errorf("got %d of %d buffers back", free, all)
	}
}

// TestMoreCopiesThanMemory: a message whose lanes are a set beyond MaxStreams is copied for
// each of them only if there is memory for so many pages. Otherwise it could never be sent.
func TestMoreCopiesThanMemory(t *testing.T) {
	const crowd, known = 200, 100
	b := newLeaveBed(t, known, 64)
	for i := range crowd { // each tag has another set of lanes, of which all have more than 64
		set, err := tags.Range(tags.Tag(max(0, i-crowd+known)), known-1)
		if err != nil {
			t.Fatal(err)
		}
		b.want(b.connect(), set, subscription.Policy{})
	}
	for tag := range tags.Tag(known) {
		if err := b.fan.Publish(tag, 0, []byte("x"), nil); err != nil {
			t.Fatalf("tag %d: %v", tag, err)
		}
		b.fan.Flush()
		b.loop.turn()
	}
	if x := b.fan.Shape(); x.Shared != known {
		t.Errorf("got %d shared streams, want %d, as there is memory for %d copies of a message", x.Shared, known, b.fan.routes.copies)
	}
}
