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
	s        *stream
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
		b.bed.subscribe(box, tags.Of(1), subscription.Policy{})
		ep.box = box
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
	for _, pause := range pauses {
		if err := b.bed.fan.Publish(1, 0, make([]byte, 64), nil); err != nil {
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
	for _, n := range b.s.lanesOrNone() {
		n.out.ep.(*paceEndpoint).complete(n.out)
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

func (s *stream) lanesOrNone() []*Lane {
	if s == nil {
		return nil
	}
	return s.lanes
}

func (b *paceBed) want(direct, queued, posts int) {
	b.t.Helper()
	if b.direct != direct || b.queued != queued || b.posts != posts {
		b.t.Errorf("got %d direct sends, %d by the loop and %d wake-ups; want %d, %d and %d",
			b.direct, b.queued, b.posts, direct, queued, posts)
	}
}

// repeat returns n equal pauses.
func repeat(n int, pause time.Duration) []time.Duration {
	list := make([]time.Duration, n)
	for i := range list {
		list[i] = pause
	}
	return list
}

const ns, us = time.Nanosecond, time.Microsecond

func TestMessagesThatStandAloneAreSentByTheirPublisher(t *testing.T) {
	for _, pause := range []time.Duration{14 * us, 100 * us, time.Second} {
		b := newPaceBed(t, 1)
		b.publish(repeat(1000, pause)...)
		b.want(1000, 0, 0)
	}
}

// The receiver of a message takes the processor while its sender is still in the call, and
// answers: the sender's next message comes as soon as the call has returned. A bus that
// takes this for a burst waits for the loop in each round trip.
func TestAnAnswerAtTheEndOfASendIsNoBurst(t *testing.T) {
	b := newPaceBed(t, 1)
	b.publish(repeat(10, 50*us)...) // what a send costs is known
	b.sendCost = func() time.Duration { return 60 * us }
	b.publish(repeat(1000, 0)...)
	b.want(1010, 0, 0)
}

// What preemption costs is not what a send costs.
func TestPreemptedSendsDoNotMakeASendExpensive(t *testing.T) {
	b := newPaceBed(t, 1)
	n := 0
	b.sendCost = func() time.Duration {
		if n++; n%10 > 0 {
			return 500 * us
		}
		return 6 * us
	}
	b.publish(repeat(1000, 20*us)...)
	b.want(1000, 0, 0)
	if !b.s.few() {
		t.Errorf("a send counts as %v, want little", time.Duration(b.s.cost))
	}
}

// A burst is left to the loop, from the third one of the messages on that come at once. Then
// all of the later bursts are, although waking the loop takes longer than a message.
func TestBurstsAreLeftToTheLoop(t *testing.T) {
	b := newPaceBed(t, 1)
	b.publish(repeat(10, 100*ns)...)
	b.turn()
	b.want(2, 1, 0) // the first one comes when its time has come
	for range 100 {
		b.wait(200 * us)
		b.publish(repeat(10, 100*ns)...)
		b.turn()
	}
	b.want(2, 101, 100)
}

// The loop that finds a message alone forgets the bursts.
func TestBurstsAreForgotten(t *testing.T) {
	b := newPaceBed(t, 1)
	b.publish(repeat(10, 100*ns)...)
	b.turn()
	b.wait(200 * us)
	b.publish(100 * us)
	b.turn()
	b.want(2, 2, 1)
	b.publish(repeat(100, 100*us)...)
	b.want(102, 2, 1)
}

// A loop that does not come, because its processor is busy, is not waited for.
func TestAPublisherSendsInThePlaceOfALoopThatDoesNotCome(t *testing.T) {
	b := newPaceBed(t, 1)
	b.publish(repeat(10, 100*ns)...) // a burst
	b.publish(repeat(100, 20*us)...)
	if b.direct < 90 || b.queued > 0 {
		t.Errorf("got %d direct sends and %d by the loop, which has had no turn; want 90 and none", b.direct, b.queued)
	}
}

// To send to many takes so long that the loop does it.
func TestManySubscribersAreLeftToTheLoop(t *testing.T) {
	b := newPaceBed(t, 16)
	for range 10 {
		b.publish(0)
		b.turn()
		b.wait(time.Millisecond)
	}
	b.want(0, 160, 10)
}

// A flood fills its pages: the loop looks from time to time, and no page is sent that is not
// full.
func TestAFloodFillsItsPages(t *testing.T) {
	b := newPaceBed(t, 1)
	flood := func(between int) {
		for range 100_000 / between {
			b.publish(repeat(between, 30*ns)...)
			b.tick()
		}
		b.complete()
	}
	flood(5000) // the loop is late, so that pages are full when it comes
	b.direct, b.queued = 0, 0
	flood(100)
	if pages := 100_000 * 68 / 130_900; b.direct > 0 || b.queued > pages*14/13 {
		t.Errorf("got %d direct sends and %d by the loop, want none and about %d full pages", b.direct, b.queued, pages)
	}
	b.turn()
	b.turn()
	if b.s.page != nil {
		t.Error("the last page of the flood waits for a third tick")
	}
}

// At a steady rate that is too high for single sends the loop sends with pauses.
func TestSteadyMessagesGatherBetweenTwoSends(t *testing.T) {
	b := newPaceBed(t, 1)
	for range 100 {
		b.publish(repeat(25, 2*us)...) // 50 µs
		b.turn()
	}
	if sends := b.direct + b.queued; sends < 50 || sends > 110 {
		t.Errorf("got %d direct sends and %d by the loop in 5 ms, want one each 50 µs", b.direct, b.queued)
	}
}

// Flush sends on the goroutine of its caller. Once a stream is flushed at the end of its
// bursts, their first messages do not wake the loop.
func TestFlushSendsOnItsOwnGoroutine(t *testing.T) {
	b := newPaceBed(t, 1)
	for range 100 {
		b.publish(repeat(10, 100*ns)...)
		b.bed.fan.Flush()
		b.wait(200 * us)
		b.tick()
	}
	if b.queued > 0 || b.posts > 1 || b.direct < 100 || b.direct > 102 {
		t.Errorf("got %d direct sends, %d by the loop and %d wake-ups; want 100 to 102, none and 1", b.direct, b.queued, b.posts)
	}
	b.publish(0)
	b.turn() // the loop comes for the last burst
	b.turn() // and for this message, which is not flushed
	if b.s.page != nil || b.s.asked {
		t.Error("a message waits for a Flush that does not come")
	}
}

// The end of a batch is the end of a burst.
func TestTheEndOfABatchSends(t *testing.T) {
	b := newPaceBed(t, 1)
	for range 100 {
		run, ok := b.bed.fan.BeginRun(1)
		if !ok {
			t.Fatal("no run")
		}
		for range 10 {
			if ok, err := run.Publish(1, 0, make([]byte, 64)); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		run.End(false)
		b.wait(200 * us)
	}
	b.want(100, 0, 0)
}
