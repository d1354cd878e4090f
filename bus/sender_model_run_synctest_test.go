// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/tags"
)

type senderRun struct {
	t       *testing.T
	bed     *bed
	cfg     bus.SenderConfig
	senders [senderModelSenders]*modelSender
	places  [senderModelPlaces]*modelPlace
	all     []*modelSender // also those that have ended
	met     []*modelReceiver

	mu       sync.Mutex // of what handlers and waiting calls write
	sent     []*sentMessage
	problems []string
}

// modelSender is a sender, what it has accepted, and who owned its tags.
type modelSender struct {
	*sender
	ended    bool
	plain    map[tags.Tag]uint64 // accepted by Send
	acked    map[tags.Tag]uint64 // accepted by SendAcked calls that have returned
	waiting  int                 // SendAcked calls that have not, all of one tag
	waitsFor tags.Tag
	accepted map[tags.Tag]uint64 // when all was settled last
	settled  map[tags.Tag]uint64 // of them, those of Send
	seen     int                 // events
	owners   map[tags.Tag]string // instance of the receiver that is subscribed
	began    map[string][]beginning
}

// beginning is when a receiver became the owner of its tags.
type beginning struct {
	at       time.Time
	tags     tags.Set
	accepted map[tags.Tag]uint64 // when all was settled last before it
	unsure   map[tags.Tag]uint64 // accepted from calls of SendAcked that waited: before it, or after it
}

// modelPlace is where one receiver at a time has certain tags; another host may
// have a rival, which nothing happens to but its end.
type modelPlace struct {
	host   netip.Addr
	port   uint16 // of the newest receiver
	set    tags.Set
	policy bus.Policy
	here   *modelReceiver // nil: none lives
	rival  *modelReceiver // nil: none lives
	held   bool           // stalled in some direction, or cut off
}

type modelReceiver struct {
	*receiver
	place *modelPlace
	books map[string]*senderBook // by the sender's instance
}

// senderBook is what a receiver has of one sender.
type senderBook struct {
	delivered, last map[tags.Tag]uint64
	plain           map[tags.Tag]int // id of the last message of Send
}

func newSenderRun(t *testing.T, c senderCase) *senderRun {
	r := &senderRun{t: t, bed: newBed(t)}
	r.bed.broken = c.broken
	r.cfg = bus.SenderConfig{Sending: bus.Sending{PageBytes: 256, MaxMessageBytes: 600, QueueBytes: 2048, PoolBytes: modelPool(c.cache), CacheMessages: c.cache}}
	if !c.lazy {
		all, err := tags.Range(0, modelTags-1)
		must(t, err)
		r.cfg.Tags = all
	}
	for i := range r.places {
		r.bed.host = r.bed.host.Next()
		first := tags.Tag(2 * i)
		r.places[i] = &modelPlace{host: r.bed.host, set: tags.Of(first, first+1), policy: c.policies[i]}
		r.bed.net.SetWindow(anybody, anyPort(r.bed.host), 1024)
		r.begin(r.places[i], 0)
	}
	for i := range r.senders {
		r.start(i)
	}
	return r
}

// start starts a sender.
func (r *senderRun) start(i int) {
	s := &modelSender{
		sender: r.bed.sender(r.cfg), plain: make(map[tags.Tag]uint64), acked: make(map[tags.Tag]uint64),
		accepted: make(map[tags.Tag]uint64), owners: make(map[tags.Tag]string), began: make(map[string][]beginning),
	}
	r.senders[i] = s
	r.all = append(r.all, s)
}

// begin starts the receiver of a place.
func (r *senderRun) begin(p *modelPlace, port uint16) {
	p.here = r.receive(p, netip.AddrPortFrom(p.host, port))
	p.port = p.here.Addr().Port()
}

func (r *senderRun) receive(p *modelPlace, at netip.AddrPort) *modelReceiver {
	v := &modelReceiver{place: p, books: make(map[string]*senderBook)}
	v.receiver = r.bed.receiver(bus.ReceiverConfig{
		Tags: p.set, Listening: bus.Listening{Listen: at}, Subscription: bus.SubscriptionConfig{Policy: p.policy},
	}, func(m bus.Message) { r.deliver(v, m) })
	r.met = append(r.met, v)
	return v
}

// hears reports whether a sender is connected, as far as the receiver knows.
func (v *modelReceiver) hears(s *modelSender) (connected bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, e := range v.events {
		if e.Peer != nil && e.Peer.Instance == s.Instance() && (e.Kind == bus.Connected || e.Kind == bus.Lost) {
			connected = e.Kind == bus.Connected
		}
	}
	return connected
}

// lives reports whether a receiver has not ended.
func (v *modelReceiver) lives() bool { return v == v.place.here || v == v.place.rival }

func (r *senderRun) failf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

func (r *senderRun) run(ops []senderOp) []string {
	for _, op := range ops {
		r.step(op)
		r.settle()
	}
	r.quiet()
	for _, s := range r.senders {
		r.end(s)
	}
	r.settle()
	r.check()
	return r.problems
}

func (r *senderRun) step(op senderOp) {
	s, tag := r.senders[op.Who], tags.Tag(op.Tag)
	place := r.places[senderModelPlace(tag)%senderModelPlaces]
	switch op.Kind {
	case 0, 1, 2:
		r.send(s, tag, op.Amount)
	case 3, 4, 5:
		for range 1 + op.Amount%5 {
			r.sendAcked(s, tag, time.Duration(op.Amount)*500*time.Millisecond)
		}
	case 6:
		time.Sleep(time.Duration(op.Amount) * 20 * time.Millisecond)
	case 7:
		time.Sleep(time.Duration(op.Amount) * time.Second)
	case 8, 9, 10:
		r.hold(place, op.Kind)
	case 11:
		r.resume(place)
	case 12:
		r.bed.net.Reset(anyPort(s.host), anyPort(place.host))
	case 13:
		r.kill(place, op.Amount%2 == 0)
	case 14, 15:
		if place.here == nil {
			r.begin(place, []uint16{place.port, 0}[op.Kind-14])
		}
	case 16:
		r.drain(place)
	case 17:
		r.end(s)
		r.start(op.Who)
	case 18:
		r.bed.net.Kill(s.host)
		s.ended = true
		must(r.t, s.Close())
		r.start(op.Who)
	case 19:
		r.quiet()
	case 20:
		if place.rival == nil {
			place.rival = r.receive(place, netip.AddrPort{})
		}
		for _, s := range r.senders { // now the rival is the one that they find
			r.bed.net.Reset(anyPort(s.host), anyPort(place.host))
		}
	case 21:
		if place.rival != nil {
			must(r.t, place.rival.Close())
			place.rival = nil
		}
	}
}

// hold keeps back what is sent to a place, what comes from there, or both.
func (r *senderRun) hold(p *modelPlace, kind int) {
	p.held = true
	switch kind {
	case 8:
		r.bed.net.Stall(anybody, anyPort(p.host))
	case 9:
		r.bed.net.Stall(anyPort(p.host), anybody) // the acknowledgements
	default:
		r.bed.net.Partition(anybody, anyPort(p.host))
	}
}

func (r *senderRun) resume(p *modelPlace) {
	p.held = false
	r.bed.net.Resume(anybody, anyPort(p.host))
	r.bed.net.Resume(anyPort(p.host), anybody)
	r.bed.net.Heal(anybody, anyPort(p.host))
}

// kill ends a receiver as kill -9 does.
func (r *senderRun) kill(p *modelPlace, listed bool) {
	if p.here == nil {
		return
	}
	r.bed.net.Kill(p.host)
	if !listed {
		r.bed.dir.Expire(p.here.Instance(), directory.ErrDead)
	}
	p.here = nil
}

// drain ends a receiver in order, if the network lets it: what the senders had
// accepted for it is then accounted for.
func (r *senderRun) drain(p *modelPlace) {
	v := p.here
	if v == nil {
		return
	}
	p.here = nil
	owned := make(map[*modelSender][]tags.Tag)
	for _, s := range r.all {
		if s.waiting == 0 && !s.ended && v.hears(s) { // a sender that it has lost before is not waited for
			owned[s] = s.owned(v)
		}
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
	defer cancel()
	err := v.Drain(ctx)
	if err == nil {
		r.settle()
		for s, whole := range owned {
			r.account(s, v, whole)
		}
	} else if !p.held {
		r.failf("drain a receiver: %v", err)
	}
	must(r.t, v.Close())
}

// end ends a sender in order, if the receivers let it.
func (r *senderRun) end(s *modelSender) {
	ctx, cancel := context.WithTimeout(r.t.Context(), 10*time.Second)
	defer cancel()
	held := slices.ContainsFunc(r.places[:], func(p *modelPlace) bool { return p.held })
	if err := s.Drain(ctx); errors.Is(err, context.DeadlineExceeded) && !held {
		r.failf("drain a sender: %v", err)
	}
	s.ended = true
	must(r.t, s.Close())
}
