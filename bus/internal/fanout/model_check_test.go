// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"bytes"
	"encoding/binary"
	"slices"
	"time"

	"pgregory.net/rapid"

	"tagbus/bus/internal/wire"
	"tagbus/bus/internal/workqueue"
	"tagbus/subscription"
	"tagbus/tags"
)

// read is the subscriber: it reads what has been sent.
func (b *modelBox) read(message []byte) {
	if message[0] == wire.Kind {
		b.readPage(message)
		return
	}
	m, err := subscription.Decode(message)
	if err != nil {
		b.run.rt.Fatalf("control message %x: %v", message, err)
	}
	switch m := m.(type) {
	case *subscription.Positions:
		b.each(m.List, func(p subscription.Position) { b.lanes[b.laneOf[m.ID]].known[p.Tag] = p.Count })
	case *subscription.Goodbye:
		b.each(m.List, func(p subscription.Position) { b.lanes[m.Lane].final[p.Tag] = p.Count })
	case *subscription.Lost:
		if !m.Total { // else the same losses once more
			b.each(m.List, func(p subscription.Position) { b.lanes[m.Lane].lose(p.Tag, p.Count) })
		}
	}
}

func (b *modelBox) each(list []byte, f func(subscription.Position)) {
	for p, err := range subscription.PositionsOf(list) {
		if err != nil {
			b.run.rt.Fatalf("list: %v", err)
		}
		f(p)
	}
}

// lose notes that the next messages of a tag do not come.
func (n *modelLane) lose(tag tags.Tag, messages uint64) {
	n.lost[tag] += messages
	n.known[tag] += messages
}

func (b *modelBox) readPage(page []byte) {
	var in wire.Reader
	if err := in.Reset(wire.Split(page)); err != nil {
		b.run.rt.Fatalf("page: %v", err)
	}
	n := b.lanes[in.Lane]
	for {
		more, err := in.Next()
		if err != nil {
			b.run.rt.Fatalf("page: %v", err)
		}
		if !more {
			return
		}
		b.readMessage(n, &in)
	}
}

func (b *modelBox) readMessage(n *modelLane, in *wire.Reader) {
	rt, tag := b.run.rt, in.Tag
	if len(in.Data) < 16 {
		rt.Fatalf("tag %v: got a message of %d bytes", tag, len(in.Data))
	}
	position := binary.LittleEndian.Uint64(in.Data[8:])
	if !bytes.Equal(in.Data, modelPayload(tag, position, len(in.Data)-16)) {
		rt.Fatalf("tag %v, position %d: got other bytes than were published: %x", tag, position, in.Data)
	}
	if in.Positions && in.Position == position && position > n.known[tag] {
		n.lose(tag, position-1-n.known[tag]) // what the policy has left out
	}
	if position != n.known[tag]+1 {
		rt.Fatalf("lane %d (%v), tag %v: got position %d behind %d", in.Lane, n.policy, tag, position, n.known[tag])
	}
	n.known[tag]++
}

func (r *modelRun) complete(b *modelBox, sends int) {
	for range sends {
		if !b.ep.complete(&b.Outbox) {
			return
		}
	}
}

// checkBounds checks what holds at any time.
func (r *modelRun) checkBounds() {
	for _, s := range *r.fan.streams.Load() {
		if s.pending() && !s.left.Load() {
			r.rt.Fatalf("a page of %d messages is left to nobody", s.writer.Messages)
		}
		if s.left.Load() && !s.scheduled && slices.ContainsFunc(s.lanes, func(n *Lane) bool { _, ok := n.awaited[s]; return !ok || !n.busy() && n.pinned.Load() == 0 }) {
			r.rt.Fatal("a stream is not scheduled, and not all of its lanes are busy")
		}
	}
	for i, b := range r.boxes {
		for _, n := range b.Lanes {
			if held := n.pinned.Load(); held > n.limit {
				r.rt.Fatalf("box %d, lane %d: holds %d, its bound is %d", i, n.Number, held, n.limit)
			}
		}
		if len(b.ep.sent) > MaxInFlight {
			r.rt.Fatalf("box %d: %d sends are under way", i, len(b.ep.sent))
		}
		if b.Quiet() && (b.inFlight.Len() > 0 || b.control.Len() > 0 || slices.ContainsFunc(b.Lanes, func(n *Lane) bool { return n.queue.Len() > 0 })) {
			r.rt.Fatalf("box %d: is quiet, and something waits", i)
		}
		b.Tick(time.Time{}, 0)
	}
}

// rest lets everything be sent.
func (r *modelRun) rest() {
	for _, b := range r.boxes {
		b.ep.refuses = false
		b.Ready()
	}
	for range 4 { // the first time tells nothing of a stream that was not quiet, and a flood takes two
		r.clock += int64(time.Millisecond)
		r.fan.flushDue() // time alone sends everything
		r.fan.tellDue()
		r.loop.turn()
		for busy := true; busy; {
			busy = false
			for _, b := range r.boxes {
				busy = b.ep.complete(&b.Outbox) || busy
			}
			r.loop.turn()
		}
	}
}

// check checks the guarantees. Everything is sent.
func (r *modelRun) check() {
	for i, b := range r.boxes {
		for number, n := range b.lanes {
			for tag := range modelTags {
				until := n.until[tag]
				if n.had[tag] {
					until = r.accepted[tag]
				}
				if n.known[tag] != until {
					r.rt.Fatalf("box %d, lane %d (%v), tag %d: known to %d of %d", i, number, n.policy, tag, n.known[tag], until)
				}
				if n.policy.Lossless() && n.lost[tag] > 0 {
					r.rt.Fatalf("box %d, lane %d, tag %d: lost %d under %v", i, number, tag, n.lost[tag], n.policy)
				}
			}
		}
		for _, n := range b.Lanes {
			if held := n.pinned.Load(); held != 0 {
				r.rt.Fatalf("box %d, lane %d: holds room for %d after all is sent", i, n.Number, held)
			}
		}
	}
	if held := r.fan.lossyPinned.Load(); held != 0 || r.lent != 0 || r.fan.pool.Free() != r.fan.pool.Buffers() {
		r.rt.Fatalf("lossy lanes hold %d, %d payloads are lent, %d of %d buffers are free",
			held, r.lent, r.fan.pool.Free(), r.fan.pool.Buffers())
	}
	if n := r.fan.lossyPages.Load(); n != 0 {
		r.rt.Errorf("lossy lanes count %d pages, want none", n)
	}
}

// stop ends the publishing in order.
func (r *modelRun) stop() {
	r.fan.Mu.Lock()
	r.fan.Stop()
	r.fan.Mu.Unlock()
	for _, b := range r.boxes {
		r.finish(b.Farewell(), func() {})
	}
	r.rest()
	for i, b := range r.boxes {
		for number, n := range b.lanes {
			for tag, has := range n.had {
				if has && n.final[tag] != r.accepted[tag] {
					r.rt.Fatalf("box %d, lane %d, tag %d: goodbye at %d of %d", i, number, tag, n.final[tag], r.accepted[tag])
				}
			}
		}
	}
}

// leaveEarly takes every third connection out of the routes before it has ended, as that of a
// subscriber that has connected again.
func (r *modelRun) leaveEarly(b *modelBox) (early bool) {
	if r.disconnects++; r.disconnects%3 == 0 {
		r.finish(b.Leave(), func() {})
		return true
	}
	return false
}

// disconnect ends a connection, and makes another one.
func (r *modelRun) disconnect(i int) {
	b := r.boxes[i]
	early := r.leaveEarly(b)
	b.ep.drop()
	b.Kill()
	if !early {
		r.finish(b.Leave(), func() {})
	}
	r.bury(b)
	r.connect(i)
}

// crowd ends two connections at once, whose jobs take turns, while the third one goes on.
func (r *modelRun) crowd(rt *rapid.T) {
	stays := rapid.IntRange(0, modelBoxes-1).Draw(rt, "stays")
	var jobs []workqueue.Job
	for i, b := range r.boxes {
		if i == stays {
			continue
		}
		for number := range b.lanes {
			b.lanes[number].had = [modelTags]bool{} // what it does not get counts no more
		}
		job := b.Leave()
		b.ep.drop()
		b.Kill()
		jobs = append(jobs, job)
	}
	r.crowded = true
	for len(jobs) > 0 {
		if _, done := jobs[0](rapid.IntRange(1, 20).Draw(rt, "budget")); !done {
			jobs = append(jobs, jobs[0])
		}
		jobs = jobs[1:]
		r.publish(rt)
		if r.complete(r.boxes[stays], 2); len(jobs) > 0 && rapid.Bool().Draw(rt, "changes") {
			r.subscribeAs(rt, r.boxes[stays])
		}
	}
	r.crowded = false
	for i, b := range r.boxes {
		if i != stays {
			r.bury(b)
			r.connect(i)
		}
	}
}

// bury forgets a connection that is in no route.
func (r *modelRun) bury(b *modelBox) {
	r.finish(b.Bury, func() {})
	r.fan.Mu.Lock()
	b.CloseAccounts(false, 0)
	b.Free()
	r.fan.Mu.Unlock()
}

// end frees everything.
func (r *modelRun) end() {
	for i := range r.boxes {
		r.disconnect(i)
	}
	if x := r.fan.Shape(); x.Lanes != 0 || x.Shared != 0 {
		r.rt.Fatalf("got %+v after all connections have ended, want no lane", x)
	}
	for _, b := range r.boxes {
		if err := b.ep.pool.Close(); err != nil {
			r.rt.Fatal(err)
		}
	}
	if err := r.fan.Free(); err != nil {
		r.rt.Fatal(err)
	}
}
