// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"testing"
	"time"

	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// paceBed is a stream with a clock that stands still, except for what takes time: direct
// sends, waking the loop, and what a test does in between.
type paceBed struct {
	bed      *bytesBed
	s        *stream // of the tag; nil if there are several
	boxes    []*Outbox
	t        *testing.T
	clock    time.Duration
	sendCost func() time.Duration // of a direct send
	postCost time.Duration

	direct, queued, posts int
}

// paceEndpoint takes all direct sends whole, and completes the others at once.
type paceEndpoint struct {
	sinkEndpoint
	b *paceBed
}

func (e *paceEndpoint) Capabilities() netio.Capabilities {
	return netio.Capabilities{AnyMemory: true, Direct: true}
}

func (e *paceEndpoint) SendDirect(netio.Key, []byte, ...[]byte) (bool, error) {
	e.b.direct++
	e.b.clock += e.b.sendCost()
	return true, nil
}

func (e *paceEndpoint) Send(key netio.Key, header []byte, data ...[]byte) error {
	e.b.queued++
	return e.sinkEndpoint.Send(key, header, data...)
}

// paceLoop is the loop of a paceBed.
type paceLoop struct {
	modelLoop
	b *paceBed
}

func (l *paceLoop) Post(f func()) bool {
	l.b.posts++
	l.b.clock += l.b.postCost
	return l.modelLoop.Post(f)
}

func newPaceBed(t *testing.T, lanes int) *paceBed {
	t.Helper()
	return newPaceBedWith(t, lanes, subscription.Policy{})
}

func newPaceBedWith(t *testing.T, lanes int, policy subscription.Policy) *paceBed {
	t.Helper()
	const pageBytes = 130_900
	pool, err := netio.NewPool(64, pageBytes)
	if err != nil {
		t.Fatal(err)
	}
	b := &paceBed{t: t, clock: time.Hour, postCost: 8 * time.Microsecond}
	b.sendCost = func() time.Duration { return 6 * time.Microsecond }
	b.bed = newBytesBed(t, subscription.Policy{}, 0, Config{Pool: pool, PageBytes: pageBytes, QueueBytes: 32 * pageBytes, MaxMessageBytes: 1 << 20, Served: tags.Of(1)})
	fan := &b.bed.fan
	fan.cfg.FlushInterval = 0
	fan.now = func() int64 { return int64(b.clock) }
	fan.loop = &paceLoop{b: b}
	for range lanes {
		control, err := netio.NewPool(1, 1<<16)
		if err != nil {
			t.Fatal(err)
		}
		box, ep := new(Outbox), &paceEndpoint{sinkEndpoint{buffer: control}, b}
		box.Init(fan, ep, func(err error) { t.Fatal(err) })
		b.bed.subscribe(box, tags.Of(1), policy)
		b.boxes = append(b.boxes, box)
		ep.complete(box)
	}
	b.publish(0) // the tag becomes known, and its route
	b.s = fan.tags.Get(1).route.Load().only
	b.turn()
	b.wait(time.Second)
	b.direct, b.queued, b.posts = 0, 0, 0
	return b
}

// publish publishes messages of 64 B, with pauses between them.
func (b *paceBed) publish(pauses ...time.Duration) {
	b.t.Helper()
	b.publishBytes(64, pauses...)
}

// publishBytes publishes messages of so many bytes.
func (b *paceBed) publishBytes(size int, pauses ...time.Duration) {
	b.t.Helper()
	for _, pause := range pauses {
		if err := b.bed.fan.Publish(1, 0, make([]byte, size), nil); err != nil {
			b.t.Fatal(err)
		}
		b.wait(pause)
	}
}

func (b *paceBed) wait(d time.Duration) { b.clock += d }

// turn lets the loop do what is posted, and what its timer is set for, and completes what
// was sent.
func (b *paceBed) turn() {
	fan := &b.bed.fan
	fan.loop.(*paceLoop).turn()
	if at := time.Duration(fan.due.timer); at > 0 {
		b.clock = max(b.clock, at)
		fan.flushDue()
		fan.loop.(*paceLoop).turn()
	}
	b.complete()
}

// complete completes what was sent, and what is sent then.
func (b *paceBed) complete() {
	for _, box := range b.boxes {
		box.ep.(*paceEndpoint).complete(box)
	}
}

// tick is turn without the timer, unless its time has come.
func (b *paceBed) tick() {
	if at := time.Duration(b.bed.fan.due.timer); at > 0 && at <= b.clock {
		b.bed.fan.flushDue()
	}
	b.bed.fan.loop.(*paceLoop).turn()
	b.complete()
}

func (b *paceBed) want(direct, queued, posts int) {
	b.t.Helper()
	if b.direct != direct || b.queued != queued || b.posts != posts {
		b.t.Errorf("got %d direct sends, %d by the loop and %d wake-ups; want %d, %d and %d",
			b.direct, b.queued, b.posts, direct, queued, posts)
	}
}
