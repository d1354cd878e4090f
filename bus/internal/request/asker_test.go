// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tagbus/bus/internal/workqueue"
	"tagbus/subscription"
	"tagbus/tags"
)

// wish is a subscription of a subscriber that is only its list.
type wish struct {
	id     uint64
	lane   uint16
	set    tags.Set
	closed bool
	ended  bool
}

// failer is what a test and a rapid check have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// bed is the side of an Asker, and a publisher that answers when it is told to.
type bed struct {
	t     failer
	asker Asker[*wish]
	subs  workqueue.List[*wish]
	work  workqueue.Queue
	share workqueue.Share
	posts []func()
	pause int

	serves    tags.Set
	positions map[tags.Tag]uint64 // of earlier connections
	up        bool
	considers int // calls of Considered

	queued, sent []subscription.Message // sent: not answered yet
	within       bool                   // the last Subscribe that was sent says that another one follows
	active       map[uint64]tags.Set    // at the publisher
	stood        map[uint64][]subscription.Position
}

func newBed(t failer) *bed {
	b := &bed{
		t: t, serves: tags.Everything(), up: true, positions: make(map[tags.Tag]uint64),
		active: make(map[uint64]tags.Set), stood: make(map[uint64][]subscription.Position),
	}
	b.work = workqueue.New(func(f func()) bool {
		b.posts = append(b.posts, f)
		return true
	})
	b.share = b.work.Share(func() { b.pause++ }, func() { b.pause-- })
	b.asker = NewAsker[*wish](b, &b.subs, &b.work, &b.share)
	return b
}

func (*bed) Key(w *wish) (uint64, uint16) { return w.id, w.lane }
func (*bed) Over(w *wish) bool            { return w.closed }
func (*bed) Wants(w *wish) tags.Set       { return w.set }
func (*bed) Cost(*wish) int               { return 1 }
func (*bed) Message(w *wish) subscription.Subscribe {
	return subscription.Subscribe{ID: w.id, Lane: w.lane}
}
func (b *bed) MayAsk() bool                 { return b.up }
func (b *bed) Queue(m subscription.Message) { b.queued = append(b.queued, m) }
func (b *bed) Fail(err error)               { b.t.Fatalf("got %v", err) }
func (*bed) Stay()                          {}
func (*bed) Changed()                       {}
func (*bed) Ceased()                        {}
func (b *bed) Considered()                  { b.considers++ }
func (*bed) Ended(w *wish)                  { w.ended = true }
func (b *bed) Concerns(w *wish) bool        { return w.set.Intersects(b.serves) || b.owes(w) }
func (b *bed) owes(w *wish) bool            { r := b.asker.Of(w.id); return r != nil && !r.Acked().IsEmpty() }

// Pump gives the publisher what is queued, which has to keep the protocol.
func (b *bed) Pump() {
	b.t.Helper()
	for _, m := range b.queued {
		if s, ok := m.(*subscription.Subscribe); ok {
			b.within = s.WithNext || s.More
		} else if _, ok := m.(*subscription.Positions); !ok && b.within {
			b.t.Fatalf("%T came within a group", m)
		}
		b.sent = append(b.sent, m)
	}
	b.queued = nil
}

func (b *bed) Stands(x Standing) workqueue.Job {
	return func(int) (steps int, done bool) {
		for tag := range x.Set.All() {
			if n := b.positions[tag]; n > 0 && x.Due(tag) {
				x.Tell(subscription.Position{Tag: tag, Count: n})
			}
		}
		return 1, true
	}
}

// turn runs what was posted.
func (b *bed) turn() {
	for len(b.posts) > 0 {
		f := b.posts[0]
		b.posts = b.posts[1:]
		f()
	}
}

func (b *bed) open(w *wish) {
	b.subs.Add(w.id, w)
	b.asker.Consider(w)
}

// answer makes the publisher answer the first message that waits.
//
//   - refuse: a Subscribe that is complete, for this reason.
func (b *bed) answer(refuse error) {
	b.t.Helper()
	m := b.sent[0]
	b.sent = b.sent[1:]
	switch m := m.(type) {
	case *subscription.Positions:
		if _, err := b.asker.Positioned(m.ID); err != nil {
			b.t.Fatalf("positions of a subscription that is not asked for: %v", err)
		}
		for p, err := range subscription.PositionsOf(m.List) {
			if err != nil {
				b.t.Fatalf("got %v", err)
			}
			b.stood[m.ID] = append(b.stood[m.ID], p)
		}
	case *subscription.Subscribe:
		var set tags.Set
		if err := set.UnmarshalBinary(m.Set); err != nil || m.More {
			b.t.Fatalf("a set in parts, or %v", err)
		}
		if _, came := b.active[m.ID]; m.Resume && came {
			b.t.Fatalf("subscription %d resumes on a connection that has it", m.ID)
		}
		if refuse != nil {
			b.asker.Refused(m.ID, refuse)
			b.again(m.ID)
			return
		}
		b.active[m.ID] = set
		if _, _, err := b.asker.Subscribed(m.ID); err != nil {
			b.t.Fatalf("got %v", err)
		}
		b.again(m.ID)
	case *subscription.Unsubscribe:
		if _, has := b.active[m.ID]; !has {
			b.t.Fatalf("an end of subscription %d, which is not active", m.ID)
		}
		delete(b.active, m.ID)
		if _, _, err := b.asker.Unsubscribed(m.ID); err != nil {
			b.t.Fatalf("got %v", err)
		}
		b.again(m.ID)
	}
}

// again looks at a subscription after an answer, as the user of an Asker does.
func (b *bed) again(id uint64) {
	for w := range b.subs.All {
		if w.id == id {
			b.asker.Consider(w)
			return
		}
	}
	if r := b.asker.Of(id); r != nil {
		b.asker.Unsubscribe(r.Sub, true)
	}
}

func (b *bed) close(w *wish) {
	w.closed = true
	b.subs.Remove(w.id)
	b.asker.Unsubscribe(w, b.up)
}

func (b *bed) lose() {
	b.up, b.queued, b.sent, b.within = false, nil, nil, false
	b.active = make(map[uint64]tags.Set)
	b.asker.Lost()
	b.asker.Disconnect(false, func() {})
}

// Whatever the program wants and the publisher answers, a publisher that has answered all
// has what is wanted, and nothing else, and the protocol is kept on the way (bed.Pump).
func TestAsker_getsWhatIsWanted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBed(t)
		var open []*wish
		next := uint64(0)
		set := rapid.Custom(func(t *rapid.T) tags.Set {
			first := rapid.Uint64Range(1, 60).Draw(t, "first")
			set, err := tags.Range(tags.Tag(first), tags.Tag(first+rapid.Uint64Range(0, 40).Draw(t, "more")))
			if err != nil {
				t.Fatal(err)
			}
			return set
		})
		one := func(t *rapid.T) *wish {
			if len(open) == 0 {
				t.Skip("no subscription")
			}
			return rapid.SampledFrom(open).Draw(t, "subscription")
		}
		denied := make(map[uint64]bool)
		t.Repeat(map[string]func(*rapid.T){
			"opens": func(t *rapid.T) {
				next++
				w := &wish{id: next, lane: uint16(next % 2), set: set.Draw(t, "set")}
				open = append(open, w)
				b.open(w)
			},
			"wants something else": func(t *rapid.T) {
				w := one(t)
				w.set = set.Draw(t, "set")
				denied[w.id] = false
				b.asker.Consider(w)
			},
			"closes": func(t *rapid.T) {
				w := one(t)
				open = slices.DeleteFunc(open, func(o *wish) bool { return o == w })
				b.close(w)
			},
			"answers": func(t *rapid.T) {
				if len(b.sent) == 0 {
					t.Skip("nothing is asked")
				}
				b.answer(nil)
			},
			"refuses": func(t *rapid.T) {
				if len(b.sent) == 0 {
					t.Skip("nothing is asked")
				}
				if m, ok := b.sent[0].(*subscription.Subscribe); ok {
					denied[m.ID] = true
				}
				b.answer(errors.New("no"))
			},
			"turns":   func(*rapid.T) { b.turn() },
			"anew":    func(*rapid.T) { clear(denied); b.asker.AskAnew(); b.asker.ConsiderAll() },
			"is lost": func(*rapid.T) { clear(denied); b.lose() },
			"is back": func(*rapid.T) {
				if b.turn(); !b.up && !b.asker.Forgetting() {
					b.up = true
					b.asker.ConsiderAll()
				}
			},
		})
		if b.turn(); !b.up {
			b.up = true
			b.asker.ConsiderAll()
		}
		for b.turn(); len(b.sent) > 0; b.turn() {
			b.answer(nil)
		}
		for _, w := range open {
			if r := b.asker.Of(w.id); !b.active[w.id].Equal(w.set) && (!denied[w.id] || r == nil) {
				t.Fatalf("subscription %d: the publisher has %v, want %v", w.id, b.active[w.id], w.set)
			}
			delete(b.active, w.id)
		}
		if len(b.active) > 0 {
			t.Fatalf("the publisher has %v of subscriptions that are closed", b.active)
		}
		if b.pause != 0 || b.asker.Considering() || b.asker.Forgetting() {
			t.Fatalf("all is answered: paused %d times", b.pause)
		}
	})
}

// What the publisher owes is asked for first, behind the positions of earlier connections.
// Each of these is said once in a group.
func TestAsker_resumesFirst(t *testing.T) {
	b := newBed(t)
	old, other := &wish{id: 2, set: tags.Of(1, 2)}, &wish{id: 3, set: tags.Of(2, 3)}
	for _, w := range []*wish{old, other} {
		b.open(w)
		b.answer(nil)
	}
	b.lose()
	b.positions = map[tags.Tag]uint64{1: 10, 2: 20, 3: 30, 4: 40}
	fresh := &wish{id: 1, set: tags.Of(4)}
	b.open(fresh)
	b.up = true
	b.asker.ConsiderAll()
	var got []string
	for _, m := range b.sent {
		switch m := m.(type) {
		case *subscription.Positions:
			for p, err := range subscription.PositionsOf(m.List) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprintf("%d stands at %d in %d", m.ID, p.Count, p.Tag))
			}
		case *subscription.Subscribe:
			got = append(got, fmt.Sprintf("%d resumes %v, more %v", m.ID, m.Resume, m.WithNext))
		}
	}
	want := []string{
		"2 stands at 10 in 1", "2 stands at 20 in 2", "2 resumes true, more true",
		"3 stands at 30 in 3", "3 resumes true, more true",
		"1 resumes false, more false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
	if b.considers != 1 {
		t.Errorf("Considered was called %d times, want once", b.considers)
	}
}

// A message that is no part of a group waits for the end of the one that is being sent.
func TestAsker_sendsNothingWithinAGroup(t *testing.T) {
	before := workqueue.SliceSteps
	workqueue.SliceSteps = 4 * Steps
	defer func() { workqueue.SliceSteps = before }()
	b := newBed(t)
	b.up = false
	for id := range uint64(20) {
		b.open(&wish{id: id, set: tags.Of(tags.Tag(id))})
	}
	b.up = true
	b.asker.ConsiderAll()
	for len(b.sent) == 0 {
		if len(b.posts) == 0 {
			t.Fatal("nothing is sent")
		}
		f := b.posts[0]
		b.posts = b.posts[1:]
		f()
	}
	if !b.within || b.pause == 0 {
		t.Fatalf("got a whole group in a slice, or the publisher is read: paused %d times", b.pause)
	}
	b.asker.InTurn(&subscription.Denied{})
	b.turn() // Pump complains of a message within a group
	if _, last := b.sent[len(b.sent)-1].(*subscription.Denied); !last || len(b.sent) != 21 {
		t.Errorf("got %d messages, the last one a %T; want 20 and then a Denied", len(b.sent), b.sent[len(b.sent)-1])
	}
	b.asker.InTurn(&subscription.Denied{})
	if n := len(b.sent); n != 22 {
		t.Errorf("no group is being sent: got %d messages, want 22 at once", n)
	}
}

// A connection that ends takes along what was to be sent on it.
func TestAsker_forgetsAGroupWithItsConnection(t *testing.T) {
	before := workqueue.SliceSteps
	workqueue.SliceSteps = 4 * Steps
	defer func() { workqueue.SliceSteps = before }()
	b := newBed(t)
	for id := range uint64(20) {
		b.subs.Add(id, &wish{id: id, set: tags.Of(tags.Tag(id))})
	}
	b.asker.ConsiderAll()
	b.asker.InTurn(&subscription.Denied{})
	b.lose()
	if b.turn(); len(b.sent)+len(b.queued) > 0 || b.pause != 0 {
		t.Errorf("got %d messages after the end, paused %d times", len(b.sent)+len(b.queued), b.pause)
	}
	if n := b.asker.Len(); n != 0 {
		t.Errorf("got %d requests that nothing has answered, want none", n)
	}
}

func TestAsker_takesNoAnswerWithoutAQuestion(t *testing.T) {
	b := newBed(t)
	w := &wish{id: 1, set: tags.Of(1)}
	check := func(when string, subscribed, unsubscribed, positioned bool) {
		t.Helper()
		_, _, errS := b.asker.Subscribed(1)
		_, _, errU := b.asker.Unsubscribed(1)
		_, errP := b.asker.Positioned(1)
		if (errS == nil) != subscribed || (errU == nil) != unsubscribed || (errP == nil) != positioned {
			t.Errorf("%s: got %v, %v, %v", when, errS, errU, errP)
		}
	}
	check("before", false, false, false)
	if r := b.asker.Refused(1, errors.New("no")); r != nil {
		t.Error("before: a refusal of nothing was taken")
	}
	b.open(w)
	check("asked for", true, false, true)
	b.close(w)
	check("closed", false, true, false)
}
