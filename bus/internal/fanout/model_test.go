// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/workqueue"
	"tagbus/internal/testkit"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// The model of the fanout, without connections, goroutines and time: endpoints that
// complete when they are told to, and everything that a publisher may do to their
// lanes. What must hold for every tag of every lane, once all is sent: what was published
// while the lane had it is delivered or reported lost; in order, each message once, its
// bytes equal; a lossless lane loses nothing. And all memory is back.

const (
	modelTags  = 4
	modelBoxes = 3
	modelLanes = 2 // of a connection
)

type modelRun struct {
	rt    *rapid.T
	loop  modelLoop
	fan   *Fanout
	boxes [modelBoxes]*modelBox
	clock int64 // nanoseconds
	lent  int   // payloads that have not come back

	disconnects int
	crowded     bool // what connections that have ended hold is not back yet
	accepted    [modelTags]uint64
}

// modelBox is a connection, with what its subscriber has read.
type modelBox struct {
	Outbox
	run    *modelRun
	ep     *modelEndpoint
	lanes  map[uint16]*modelLane
	subs   map[uint64]struct{} // that are active
	laneOf []uint16            // of each subscription so far, by its id
}

type modelLane struct {
	policy subscription.Policy
	sets   map[uint64]tags.Set // of the subscriptions
	had    [modelTags]bool     // the lane has the tag now
	until  [modelTags]uint64   // position at which it gave the tag up
	known  [modelTags]uint64   // position up to which it is known what became of the messages
	lost   [modelTags]uint64
	final  [modelTags]uint64 // position in the goodbye
}

func TestFanoutModel(t *testing.T) {
	for range testkit.Fewer(32) {
		rapid.Check(t, func(rt *rapid.T) {
			r := &modelRun{rt: rt}
			buffers := rapid.SampledFrom([]int{12, 40}).Draw(rt, "buffers")
			r.fan = newModelFanout(rt, &r.loop, buffers, rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(rt, "cached"),
				rapid.SampledFrom([]time.Duration{0, 0, time.Millisecond}).Draw(rt, "flush"))
			r.clock = int64(time.Hour)
			r.fan.now = func() int64 { r.clock += 500; return r.clock }
			for i := range r.boxes {
				r.connect(i)
			}
			rt.Repeat(r.actions())
			r.rest()
			r.check()
			r.stop()
			r.end()
		})
	}
}

// actions are what may happen. Behind each one, "" looks at what must always hold.
func (r *modelRun) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"publish":     r.publish,
		"lend":        r.lend,
		"subscribe":   r.subscribe,
		"unsubscribe": r.unsubscribe,
		"complete":    func(rt *rapid.T) { r.complete(r.box(rt), rapid.IntRange(1, 20).Draw(rt, "sends")) },
		"refuse":      func(rt *rapid.T) { r.box(rt).ep.refuses = true },
		"resume":      func(rt *rapid.T) { b := r.box(rt); b.ep.refuses = false; b.Ready() },
		"flush":       func(*rapid.T) { r.fan.Flush() },
		"time":        func(*rapid.T) { r.fan.flushDue(); r.fan.tellDue() },
		"wait":        func(rt *rapid.T) { r.clock += rapid.Int64Range(0, 2e6).Draw(rt, "ns") },
		"disconnect":  func(rt *rapid.T) { r.disconnect(rapid.IntRange(0, modelBoxes-1).Draw(rt, "box")) },
		"crowd":       r.crowd,
		"":            func(*rapid.T) { r.loop.turn(); r.checkBounds() },
	}
}

func (r *modelRun) box(rt *rapid.T) *modelBox {
	return r.boxes[rapid.IntRange(0, modelBoxes-1).Draw(rt, "box")]
}

// connect makes a connection without lanes.
func (r *modelRun) connect(i int) {
	pool, err := netio.NewPool(4, 64<<10)
	if err != nil {
		r.rt.Fatal(err)
	}
	b := &modelBox{run: r, lanes: make(map[uint16]*modelLane), subs: make(map[uint64]struct{}), laneOf: make([]uint16, 1)}
	b.ep = &modelEndpoint{pool: pool, read: b.read}
	b.Init(r.fan, b.ep, func(err error) { r.rt.Fatalf("fault: %v", err) })
	r.boxes[i] = b
}

// publish publishes some messages of a tag. Only a lossless lane, or want of memory, may
// refuse one.
func (r *modelRun) publish(rt *rapid.T) {
	tag := tags.Tag(rapid.IntRange(0, modelTags-1).Draw(rt, "tag"))
	size := rapid.OneOf(rapid.IntRange(0, 60), rapid.IntRange(0, 880)).Draw(rt, "size")
	messages := rapid.IntRange(1, 12).Draw(rt, "messages")
	if rapid.Bool().Draw(rt, "run") {
		if messages = r.publishRun(tag, size, messages); messages == 0 {
			return
		}
	}
	way := r.fan.Way(tag)
	for i := range messages {
		data := modelPayload(tag, r.accepted[tag]+1, size)
		var err error
		if i%2 == 0 || !way.Publish(data) {
			err = r.fan.Publish(tag, 0, data, nil)
		}
		clear(data)
		if !r.took(tag, err) {
			return
		}
	}
}

// publishRun publishes messages as a batch does, and returns how many are left.
func (r *modelRun) publishRun(tag tags.Tag, size, messages int) (left int) {
	run, ok := r.fan.BeginRun(tag)
	if !ok {
		return messages
	}
	defer run.End(false)
	for ; messages > 0; messages-- {
		data := modelPayload(tag, r.accepted[tag]+1, size)
		ok, err := run.Publish(tag, 0, data)
		clear(data)
		if err != nil {
			r.took(tag, err)
			return 0
		}
		if !ok {
			return messages
		}
		r.took(tag, nil)
	}
	return 0
}

// took notes whether a message was accepted.
func (r *modelRun) took(tag tags.Tag, err error) bool {
	if err != nil {
		if !errors.Is(err, ErrNoRoom) {
			r.rt.Fatalf("publish tag %v: %v", tag, err)
		}
		if !r.crowded && !r.lossless(tag) {
			r.rt.Fatalf("publish tag %v: %v, and no lane must have it", tag, err)
		}
		return false
	}
	r.accepted[tag]++
	return true
}

// lossless reports whether some lane that must not lose the tag has it.
func (r *modelRun) lossless(tag tags.Tag) bool {
	for _, b := range r.boxes {
		for _, n := range b.lanes {
			if n.had[tag] && n.policy.Lossless() {
				return true
			}
		}
	}
	return false
}

// lend publishes a payload that is not copied.
func (r *modelRun) lend(rt *rapid.T) {
	tag := tags.Tag(rapid.IntRange(0, modelTags-1).Draw(rt, "tag"))
	data := modelPayload(tag, r.accepted[tag]+1, rapid.IntRange(0, 800).Draw(rt, "bytes"))
	r.lent++
	lent, err := r.fan.publishLent(tag, 0, payload{mem: data, done: func() { clear(data); r.lent-- }})
	if !lent || err != nil {
		r.lent--
	}
	if lent {
		r.took(tag, err)
	}
}

// subscribe adds a subscription to a lane, new or not, or changes one.
func (r *modelRun) subscribe(rt *rapid.T) { r.subscribeAs(rt, r.box(rt)) }

func (r *modelRun) subscribeAs(rt *rapid.T, b *modelBox) {
	number := uint16(rapid.IntRange(1, modelLanes).Draw(rt, "lane"))
	policy := rapid.SampledFrom([]subscription.Policy{
		{Kind: subscription.Block},
		{Kind: subscription.DropNewest},
		{Kind: subscription.DropOldest},
		{Kind: subscription.Latest},
		{Kind: subscription.Sample, Every: 3},
	}).Draw(rt, "policy")
	var list []tags.Tag
	for tag := range tags.Tag(modelTags) {
		if rapid.Bool().Draw(rt, "wants") {
			list = append(list, tag)
		}
	}
	if len(list) == 0 {
		return
	}
	n := b.lanes[number]
	if n == nil {
		n = &modelLane{policy: policy, sets: make(map[uint64]tags.Set)}
		b.lanes[number] = n
	}
	id := uint64(len(b.laneOf))
	if len(n.sets) > 0 && rapid.Bool().Draw(rt, "change") {
		id = slices.Min(slices.Collect(maps.Keys(n.sets)))
	}
	between := func() {}
	if id == uint64(len(b.laneOf)) { // it only gains tags
		b.laneOf = append(b.laneOf, number)
		between = func() {
			if rapid.Bool().Draw(rt, "meanwhile") {
				r.publish(rt)
			}
		}
	}
	b.subs[id], n.sets[id] = struct{}{}, tags.Of(list...)
	request := &subscription.Subscribe{ID: id, Lane: number, Replay: uint64(rapid.IntRange(0, 6).Draw(rt, "replay"))}
	g := b.Subscribe([]Wish{{Request: request, Set: n.sets[id]}}, Terms{
		Check:    func(w *Wish) (refusal, fault error) { w.Policy = n.policy; return nil, nil },
		Steps:    func(*Wish) int { return 1 },
		Account:  func(w *Wish) *ledger.Lane { return account(int(number), w) },
		HandOver: func([]tags.Set) []tags.Set { return nil },
		Entered:  func() {},
	})
	n.update(&r.accepted)
	r.finish(g.Run, between)
	if _, err := g.Failed(); err != nil {
		r.rt.Fatalf("subscribe: %v", err)
	}
}

// finish runs a job in slices, and calls between between them.
func (r *modelRun) finish(job workqueue.Job, between func()) {
	for _, done := job(10); !done; _, done = job(10) {
		between()
	}
}

// unsubscribe ends the oldest subscription of a connection.
func (r *modelRun) unsubscribe(rt *rapid.T) {
	b := r.box(rt)
	for id, number := range b.laneOf {
		if _, ok := b.subs[uint64(id)]; ok {
			delete(b.subs, uint64(id))
			delete(b.lanes[number].sets, uint64(id))
			_, _, job := b.Unsubscribe(uint64(id))
			r.finish(job, func() {})
			b.lanes[number].update(&r.accepted)
			return
		}
	}
}

// update notes which tags the lane has now.
func (n *modelLane) update(accepted *[modelTags]uint64) {
	for tag := range n.had {
		before := n.had[tag]
		n.had[tag] = false
		for _, set := range n.sets {
			n.had[tag] = n.had[tag] || set.Contains(tags.Tag(tag))
		}
		if before && !n.had[tag] {
			n.until[tag] = accepted[tag]
		}
	}
}
