// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// deliver is the handler of the receivers.
func (r *senderRun) deliver(v *modelReceiver, m bus.Message) {
	id, problems := r.take(v, m)
	for _, problem := range problems {
		r.failf("receiver %s, sender %s, tag %v, counter %d: %s", v.Instance(), m.Publisher.Instance, m.Tag, m.Counter, problem)
	}
	if spoils(id) {
		panic("spoiled")
	}
}

func (r *senderRun) take(v *modelReceiver, got bus.Message) (id int, problems []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := strings.SplitN(string(got.Data), ":", 3)
	if len(text) == 3 {
		id, _ = strconv.Atoi(text[1])
	}
	if id >= len(r.sent) || string(got.Data) != string(payload(got.Tag, uint64(id))) {
		return 0, []string{"wrong bytes"}
	}
	m := r.sent[id]
	if m.sender.Instance() != got.Publisher.Instance || m.tag != got.Tag || !v.place.set.Contains(got.Tag) {
		problems = append(problems, "it is another sender's, tag's or receiver's")
	}
	if m.got++; m.got > 1 || m.lost || m.returned && !m.accepted {
		problems = append(problems, "message "+strconv.Itoa(id)+" comes though it should not: it came before, was refused, or SendAcked has given it up")
	}
	if m.position != 0 && m.position != got.Counter {
		problems = append(problems, "SendAcked has another counter: "+strconv.FormatUint(m.position, 10))
	}
	m.position, m.handled = got.Counter, !spoils(id)
	book := v.books[got.Publisher.Instance]
	if book == nil {
		book = &senderBook{delivered: make(map[tags.Tag]uint64), last: make(map[tags.Tag]uint64), plain: make(map[tags.Tag]int)}
		v.books[got.Publisher.Instance] = book
	}
	if got.Counter <= book.last[got.Tag] || !m.acked && id < book.plain[got.Tag] {
		problems = append(problems, "out of order")
	}
	if book.last[got.Tag] = got.Counter; !m.acked {
		book.plain[got.Tag] = id
	}
	book.delivered[got.Tag]++
	return id, problems
}

// quiet lets everything come to rest, and checks the guarantees.
func (r *senderRun) quiet() {
	for _, p := range r.places {
		r.resume(p)
	}
	r.settle()
	time.Sleep(time.Minute) // reconnect, deliver, and the patience of SendAcked
	r.settle()
	r.probe()
	r.check()
}

// probe sends to every tag that has a receiver: nothing is in the way.
func (r *senderRun) probe() {
	var all []*sentMessage
	for _, p := range r.places {
		for _, s := range r.senders {
			if p.here != nil || p.rival != nil {
				for tag := range p.set.All() {
					all = append(all, r.sendAcked(s, tag, 20*time.Second))
					synctest.Wait()
				}
			}
		}
		time.Sleep(20 * time.Second)
		r.settle()
	}
	for _, m := range all {
		policy := r.places[senderModelPlace(m.tag)].policy
		if m.err != nil && !errors.Is(m.err, bus.ErrNotHandled) && (policy.Kind != bus.Sample || !errors.Is(m.err, bus.ErrLeftOut)) {
			r.failf("tag %v is at rest, and SendAcked returned %v", m.tag, m.err)
		}
	}
}

// check checks the guarantees. All is quiet.
func (r *senderRun) check() {
	for _, s := range r.all {
		if s.waiting > 0 {
			r.failf("%d calls of SendAcked have not returned", s.waiting)
		}
		for _, v := range r.met {
			r.account(s, v, nil)
			if v.lives() && !s.ended && len(s.owned(v)) > 0 {
				for _, problem := range audit(r.t, s, v, v.place.set) {
					r.failf("sender %s, receiver %s: %s", s.Instance(), v.Instance(), problem)
				}
			}
		}
		if st := s.Stats(); !s.ended && st.PagesFree != st.Pages {
			r.failf("%d of %d pages not back in the pool", st.Pages-st.PagesFree, st.Pages)
		}
	}
	for _, m := range r.members() {
		for _, e := range m.of(bus.Problem) {
			if errors.Is(e.Err, bus.ErrTransport) || errors.Is(e.Err, bus.ErrProtocol) {
				r.failf("%v", e)
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, m := range r.sent {
		if m.got > 0 && !m.accepted || m.got > 1 || m.got > 0 && m.lost {
			r.problems = append(r.problems, "message "+strconv.Itoa(id)+" was delivered, and its sender says that it was not")
		}
	}
}

func (r *senderRun) members() (all []*member) {
	for _, s := range r.all {
		all = append(all, s.member)
	}
	for _, v := range r.met {
		all = append(all, v.member)
	}
	return all
}

// owned returns the tags of which a receiver is the owner.
func (s *modelSender) owned(v *modelReceiver) (owned []tags.Tag) {
	for tag := range v.place.set.All() {
		if s.owners[tag] == v.Instance() {
			owned = append(owned, tag)
		}
	}
	return owned
}

// account checks guarantee 2 for a sender and a receiver, from the outside.
//
//   - whole: tags whose owner the receiver was until it ended in order.
func (r *senderRun) account(s *modelSender, v *modelReceiver, whole []tags.Tag) {
	book := v.books[s.Instance()]
	if len(s.began[v.Instance()]) == 0 {
		if book != nil {
			r.failf("receiver %s has messages of %s, to which it was not subscribed", v.Instance(), s.Instance())
		}
		return
	}
	if slices.ContainsFunc(v.of(bus.Goodbye), func(e bus.Event) bool { return e.Peer.Instance == s.Instance() }) || v.lives() && !s.ended {
		whole = append(whole, s.owned(v)...)
	}
	lost := reported(v.member, s.Instance(), 0)
	for tag := range v.place.set.All() {
		from, heard := s.beginning(v, tag)
		var delivered uint64
		if book != nil {
			delivered = book.delivered[tag]
		}
		l := lost[tag]
		got, sent := delivered+l.Lost()+l.LeftOut, s.accepted[tag]-from.accepted[tag]
		all := heard && slices.Contains(whole, tag)
		if got > sent || got+from.unsure[tag] < sent && all || l.Ended > 0 {
			said, _ := s.after(0)
			heard, _ := v.after(0)
			r.failf("sender %s, receiver %s, tag %v: delivered %d, lost %+v, sent %d since the acknowledgement %v: all %v; the sender: %v; the receiver: %v",
				s.Instance(), v.Instance(), tag, delivered, l, sent, from, all, said, heard)
		}
	}
}

// beginning returns from when on a receiver is to get a tag: the acknowledgement that it has heard
// first. A sender that looks for receivers when it uses a tag first has one for each tag.
func (s *modelSender) beginning(v *modelReceiver, tag tags.Tag) (from beginning, heard bool) {
	events, times := v.after(0)
	first := slices.IndexFunc(events, func(e bus.Event) bool {
		return e.Kind == bus.Subscribed && e.Peer.Instance == s.Instance() && e.Tags.Contains(tag)
	})
	began := slices.DeleteFunc(slices.Clone(s.began[v.Instance()]), func(b beginning) bool { return !b.tags.Contains(tag) })
	for i, b := range began {
		if i == 0 || first >= 0 && !b.at.After(times[first]) {
			from = b
		}
	}
	return from, first >= 0
}

// settle lets everything happen that needs no time, and notes what the senders
// have accepted and for whom.
func (r *senderRun) settle() {
	synctest.Wait()
	for _, s := range r.all {
		before, plain := s.accepted, s.settled
		s.accepted, s.settled = r.count(s)
		unsure := make(map[tags.Tag]uint64)
		for tag, n := range s.accepted {
			unsure[tag] = n - before[tag] - (s.settled[tag] - plain[tag])
		}
		events, times := s.after(s.seen)
		s.seen += len(events)
		for i, e := range events {
			switch e.Kind {
			case bus.Subscribed:
				for tag := range e.Tags.All() {
					s.owners[tag] = e.Peer.Instance
				}
				s.began[e.Peer.Instance] = append(s.began[e.Peer.Instance], beginning{times[i], e.Tags, before, unsure})
			case bus.Lost:
				maps.DeleteFunc(s.owners, func(_ tags.Tag, owner string) bool { return owner == e.Peer.Instance })
			default:
			}
		}
	}
}

// count returns how many messages of each tag a sender has accepted. What the
// calls say that have returned must be what the sender says.
//
//   - plain: those of Send.
func (r *senderRun) count(s *modelSender) (sum, plain map[tags.Tag]uint64) {
	total := s.Stats().Messages
	r.mu.Lock()
	sum, plain = maps.Clone(s.plain), maps.Clone(s.plain)
	n := uint64(0)
	for tag, more := range s.acked {
		sum[tag] += more
	}
	for _, some := range sum {
		n += some
	}
	waiting, tag := uint64(s.waiting), s.waitsFor
	r.mu.Unlock()
	if n > total || total-n > waiting {
		r.failf("sender %s has accepted %d messages; of the calls %d say so, and %d have not returned", s.Instance(), total, n, waiting)
		return sum, plain
	}
	sum[tag] += total - n
	return sum, plain
}

// after returns the events from the nth on, and their times.
func (m *member) after(n int) ([]bus.Event, []time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.events[n:]), slices.Clone(m.times[n:])
}
