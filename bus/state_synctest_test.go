// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/state"
	"tagbus/tags"
)

// everything asks for all of which there is not too much.
var everything = state.Question{Peers: state.MaxPeers, Busiest: state.MaxTags, Tags: tags.Of(1, 2, 3)}

// stateOf returns the state of an instance, which goes through JSON unchanged.
func stateOf(t *testing.T, x interface {
	State(ctx context.Context, q state.Question) (state.State, error)
}, q state.Question,
) state.State {
	t.Helper()
	st, err := x.State(t.Context(), q)
	must(t, err)
	text, err := json.Marshal(st)
	must(t, err)
	var back state.State
	must(t, json.Unmarshal(text, &back))
	if !reflect.DeepEqual(back, st) {
		t.Errorf("after JSON got\n%+v\nwant\n%+v", back, st)
	}
	if st.Version != state.Version || st.PID == 0 || st.Go != runtime.Version() || st.Program == "" || !st.Time.Equal(time.Now()) {
		t.Errorf("got version %d, pid %d, Go %q, program %q, time %v", st.Version, st.PID, st.Go, st.Program, st.Time)
	}
	return st
}

// Of a publisher with three subscribers, the one that takes nothing comes first, with the
// time since when it does, and then the one that loses.
func TestPublisher_State_namesWhoIsStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(small(bus.PublisherConfig{Common: bus.Common{Name: "detector"}}))
		began := time.Now()
		fine := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Name: "fine"}})
		subscribe(t, fine, tags.Of(2), newCollector().handle)
		loses, _ := b.stuckOn(tags.Of(1), bus.Policy{Kind: bus.DropNewest})
		time.Sleep(time.Second)
		stalled, _ := b.stuckOn(tags.Of(2), bus.Policy{})
		for range 100 {
			must(t, p.Publish(1, make([]byte, 900)))
		}
		for range 3 { // what the connection takes on its way, too
			for p.Publish(2, make([]byte, 900)) == nil {
			}
			synctest.Wait()
		}
		stopped := time.Now()
		time.Sleep(time.Minute)

		st := stateOf(t, p, everything)
		if st.Role != state.Publisher || st.Name != "detector" || st.Instance != p.Instance() || !st.Since.Equal(began) ||
			st.Tags != tags.Of(1, 2).String() || st.TagParts != 1 || len(st.Addresses) != 1 || st.Addresses[0] != p.Addr().String() || st.PageBytes != 1024 {
			t.Errorf("got %+v", st)
		}
		if st.Connected != 3 || st.Stalled != 1 || len(st.Peers) != 3 || len(st.Gone) != 0 || st.Fullest < 0.8 {
			t.Fatalf("got %d connected, %d stalled, %v full and %d peers, want 3, 1, 0.8 or more and 3", st.Connected, st.Stalled, st.Fullest, len(st.Peers))
		}
		for i, want := range []*subscriber{stalled, loses, fine} {
			peer := st.Peers[i]
			if peer.Instance != want.Instance() || peer.StalledSince.IsZero() != (i > 0) || time.Since(peer.Heard) > 3*time.Second {
				t.Errorf("peer %d: got %+v, want %s", i, peer, want.Instance())
			}
		}
		if at := st.Peers[0].StalledSince; at.Before(stopped) || at.After(stopped.Add(time.Second)) {
			t.Errorf("stalled since %v, want %v", at, stopped)
		}
		lost := st.Peers[1]
		if len(lost.Losses) != 2 || lost.Losses[0].Cause != state.Full || lost.Losses[1].Cause != state.Overflow {
			t.Fatalf("lost %+v, want some in the lane and some in the queue, which is not read", lost)
		}
		full, overflow := lost.Losses[0].Messages, lost.Losses[1].Messages
		if full == 0 || overflow == 0 || lost.Messages+full > 100 || overflow > lost.Messages ||
			!reflect.DeepEqual(lost.Losses, st.Losses) || !reflect.DeepEqual(lost.Lanes[0].Losses, lost.Losses) {
			t.Errorf("lost %+v of 100, in all %+v", lost, st.Losses)
		}

		for _, most := range []int{0, 1, 2} {
			st := stateOf(t, p, state.Question{Peers: most})
			if len(st.Peers) != most || st.Connected != 3 || most > 0 && st.Peers[0].Instance != stalled.Instance() {
				t.Errorf("asked for %d: got %d peers of %d", most, len(st.Peers), st.Connected)
			}
		}

		must(t, stalled.Close())
		ended := time.Now()
		time.Sleep(time.Second)
		st = stateOf(t, p, state.Question{Peers: 2})
		if st.Stalled != 0 || st.Connected != 2 || len(st.Gone) != 1 || st.Gone[0].Instance != stalled.Instance() || len(st.Gone[0].Lanes) != 1 {
			t.Errorf("after it has gone: got %+v", st)
		}
		if gone := st.Gone[0]; gone.Ended.Sub(ended).Abs() > 500*time.Millisecond || gone.Reason != "" {
			t.Errorf("got the end %v, %q, want it at %v and in order", gone.Ended, gone.Reason, ended)
		}

		b.net.Kill(fine.host)
		time.Sleep(10 * time.Second)
		st = stateOf(t, p, state.Question{Peers: 2})
		if gone := st.Gone; len(gone) != 2 || gone[0].Name != "fine" || gone[0].Reason != "netio: receive "+gone[0].Address+": connection reset by peer" || gone[0].Heard.IsZero() {
			t.Errorf("one was killed: got %+v", gone)
		}
	})
}

// Those that receive know their publishers, and say what they want and have.
func TestSubscriber_State_namesPublishersAndWhatItWants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		s := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Name: "writer"}})
		p := b.publisher(bus.PublisherConfig{Common: bus.Common{Name: "detector"}, Tags: tags.Of(1, 2)})
		subscribe(t, s, tags.Of(1, 2), newCollector().handle)
		must(t, p.WaitSubscribers(t.Context(), 1, tags.Of(1, 2)))
		since := time.Now()
		must(t, p.Publish(1, make([]byte, 100)))
		must(t, p.Publish(2, make([]byte, 20)))
		time.Sleep(5 * time.Second)
		st := stateOf(t, s, everything)
		if st.Role != state.Subscriber || st.Messages != 2 || st.PayloadBytes != 120 || st.Tags != tags.Of(1, 2).String() || st.KnownTags != 2 ||
			st.Connected != 1 || len(st.Peers) != 1 || st.Receiving == nil || st.Receiving.Pages == 0 || st.Sending != nil {
			t.Fatalf("got %+v", st)
		}
		if want := []state.Tag{{Tag: 1, Messages: 1}, {Tag: 2, Messages: 1}}; !reflect.DeepEqual(st.Asked, want) {
			t.Errorf("got tags %+v, want %+v", st.Asked, want)
		}
		var onLoop state.State
		done := make(chan error)
		s.loop.Post(func() {
			var err error
			onLoop, err = s.State(t.Context(), everything)
			done <- err
		})
		if err := <-done; err != nil || !reflect.DeepEqual(onLoop, st) {
			t.Errorf("on the loop: got %+v and %v, want %+v", onLoop, err, st)
		}
		peer := st.Peers[0]
		if peer.Instance != p.Instance() || peer.Name != "detector" || peer.Address != p.Addr().String() || !peer.Since.Equal(since) || time.Since(peer.Heard) > 3*time.Second {
			t.Errorf("got peer %+v", peer)
		}
		must(t, s.Close())
		if _, err := s.State(t.Context(), everything); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("after Close: got %v, want ErrClosed", err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("why")
		cancel(why)
		if _, err := p.State(ctx, everything); !errors.Is(err, why) {
			t.Errorf("after the end of ctx: got %v, want its cause", err)
		}
	})
}

// Losses have the first and the last second in which they were counted, by cause, also of
// earlier connections, and of those that are gone.
func TestPublisher_State_lossesHaveTheirTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(small(bus.PublisherConfig{}))
		s, _ := b.stuck(bus.Policy{Kind: bus.DropNewest})
		began := time.Now()
		at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
		flood := func() { // while nothing is read, so that some find no room
			held, release := make(chan struct{}), make(chan struct{})
			s.loop.Post(func() {
				close(held)
				<-release
			})
			<-held
			for range 30 {
				must(t, p.Publish(1, make([]byte, 900)))
			}
			close(release)
		}
		lost := func(when string, st state.State, peers []state.Peer, first, last int) {
			t.Helper()
			if len(peers) != 1 {
				t.Fatalf("%s: got %d peers, want 1", when, len(peers))
			}
			for where, losses := range map[string][]state.Loss{"in all": st.Losses, "of the peer": peers[0].Losses, "of the lane": peers[0].Lanes[0].Losses} {
				if len(losses) == 0 || losses[0].Cause != state.Full || losses[0].Messages == 0 ||
					!losses[0].First.Equal(at(first)) || !losses[0].Last.Equal(at(last)) {
					t.Errorf("%s, %s: got %+v, want some from %v to %v", when, where, losses, at(first), at(last))
				}
				for _, l := range losses[min(1, len(losses)):] { // of the queue, told a second later
					if l.Cause != state.Overflow || l.First.Before(at(first)) || l.First.After(at(first+2)) || l.Last.Before(l.First) || l.Last.After(at(last+2)) {
						t.Errorf("%s, %s: got %+v, want some from %v to %v, or within 2 s", when, where, l, at(first), at(last))
					}
				}
			}
		}
		time.Sleep(3 * time.Second)
		flood()
		st := stateOf(t, p, everything)
		lost("the first", st, st.Peers, 3, 3)
		time.Sleep(4500 * time.Millisecond)
		flood()
		st = stateOf(t, p, everything)
		lost("more", st, st.Peers, 3, 7)
		time.Sleep(time.Hour)
		st = stateOf(t, p, everything)
		lost("an hour later", st, st.Peers, 3, 7)
		must(t, s.Close())
		time.Sleep(time.Second)
		st = stateOf(t, p, everything)
		lost("when it has gone", st, st.Gone, 3, 7)
	})
}

// Lanes name those of the tags that are asked for that they want, whether there was a
// message of them or not, unless very many are asked for.
func TestPublisher_State_lanesNameTheTagsThatTheyWant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Everything()})
		for _, x := range []struct {
			name string
			set  tags.Set
		}{{"one", tags.Of(1)}, {"both", tags.Of(1, 2)}, {"other", tags.Of(7)}} {
			s := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Name: x.name}})
			subscribe(t, s, x.set, newCollector().handle)
		}
		for _, x := range []struct {
			asked tags.Set
			want  map[string][]tags.Tag
		}{
			{tags.Of(1, 2, 3), map[string][]tags.Tag{"one": {1}, "both": {1, 2}, "other": nil}},
			{tags.Of(7), map[string][]tags.Tag{"one": nil, "both": nil, "other": {7}}},
			{tags.Everything(), map[string][]tags.Tag{"one": nil, "both": nil, "other": nil}},
			{tags.Set{}, map[string][]tags.Tag{"one": nil, "both": nil, "other": nil}},
		} {
			got := make(map[string][]tags.Tag)
			for _, peer := range stateOf(t, p, state.Question{Peers: 3, Tags: x.asked}).Peers {
				got[peer.Name] = peer.Lanes[0].Wanted
			}
			if fmt.Sprint(got) != fmt.Sprint(x.want) {
				t.Errorf("asked for %v: got %v, want %v", x.asked, got, x.want)
			}
		}
	})
}

// A peer names the tags of which it has lost most, with all that it has lost of them, also
// when it has gone.
func TestPublisher_State_aPeerNamesTheTagsThatItHasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(small(bus.PublisherConfig{}))
		s, _ := b.stuckOn(tags.Of(1, 2), bus.Policy{Kind: bus.DropNewest})
		for i := range 90 {
			must(t, p.Publish(1+tags.Tag(i%3/2), make([]byte, 900))) // tag 1 twice as often
		}
		look := func(when string, q state.Question, want ...tags.Tag) {
			t.Helper()
			st := stateOf(t, p, q)
			peers := append(st.Peers, st.Gone...)
			if len(peers) != 1 {
				t.Fatalf("%s: got %d peers, want 1", when, len(peers))
			}
			var got []tags.Tag
			var sum uint64
			for _, lost := range peers[0].LostTags {
				got = append(got, lost.Tag)
				sum += state.Lost(lost.Losses)
				overflowed := len(lost.Losses) == 2 && lost.Losses[1].Cause == state.Overflow
				if lost.Policy != "drop-newest" || len(lost.Losses) != 1 && !overflowed || lost.Losses[0].Cause != state.Full {
					t.Errorf("%s: got %+v, want that the lane, or the queue of the subscription, had no room", when, lost)
				}
			}
			if all := state.Lost(peers[0].Losses); !slices.Equal(got, want) || len(want) == 2 && (sum != all || sum == 0) {
				t.Errorf("%s: got the tags %v with %d losses of %d, want %v", when, got, sum, all, want)
			}
		}
		look("two", state.Question{Peers: 1, LostTags: 2}, 1, 2)
		look("one", state.Question{Peers: 1, LostTags: 1}, 1)
		look("none", state.Question{Peers: 1})
		look("of a set", state.Question{Peers: 1, LostTags: 2, Tags: tags.Of(2, 3)}, 2)
		must(t, s.Close())
		time.Sleep(time.Second)
		look("gone", state.Question{Peers: 1, LostTags: 2}, 1, 2)
	})
}

// A subscriber knows when it heard of what it did not get, and of which publisher.
func TestSubscriber_State_knowsWhenItLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{Receiving: bus.Receiving{QueueBytes: 1000}})
		sub, err := s.SubscribeWith(tags.Of(1), nil, bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.DropOldest}})
		must(t, err)
		must(t, p.WaitSubscribers(t.Context(), 1, tags.Of(1)))
		began := time.Now()
		for range 3 {
			time.Sleep(2 * time.Second)
			for range 10 {
				must(t, p.Publish(1, make([]byte, 900)))
			}
			p.Flush()
			synctest.Wait()
		}
		st := stateOf(t, s, everything)
		if len(st.Losses) != 1 || st.Losses[0].Cause != state.Overflow || st.Losses[0].Messages != sub.Overflowed() || sub.Overflowed() < 20 ||
			!st.Losses[0].First.Equal(began.Add(2*time.Second)) || !st.Losses[0].Last.Equal(began.Add(6*time.Second)) {
			t.Errorf("got %+v, want %d by overflow", st.Losses, sub.Overflowed())
		}
		if len(st.Asked) != 1 || len(st.Asked[0].Losses) != 1 || st.Asked[0].Losses[0] != (state.Loss{Cause: state.Overflow, Messages: sub.Overflowed()}) {
			t.Errorf("got tags %+v, want one with the losses", st.Asked)
		}
		if len(st.Peers) != 1 || !reflect.DeepEqual(st.Peers[0].Losses, st.Losses) {
			t.Errorf("got %+v of the peer, want %+v", st.Peers, st.Losses)
		}
	})
}

// Tags have their counts, the second of their last message, and their rates over the time
// since the question before. What of them was lost is told of those that are asked for.
func TestPublisher_State_ofTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(small(bus.PublisherConfig{}))
		s, _ := b.stuck(bus.Policy{Kind: bus.DropNewest})
		batch := make([]bus.Message, 4)
		for i := range batch {
			batch[i] = bus.Message{Tag: 2, Data: make([]byte, 50)}
		}
		for range 25 {
			must(t, p.Publish(1, make([]byte, 900)))
		}
		_, err := p.PublishBatch(batch)
		must(t, err)
		last := time.Now()
		time.Sleep(1500 * time.Millisecond)
		must(t, p.PublishStatus(1, 3, make([]byte, 900)))
		st := stateOf(t, p, everything)
		if st.KnownTags != 2 || len(st.Busiest) != 2 || len(st.Asked) != 2 {
			t.Fatalf("got %+v, want two tags", st)
		}
		one, two := st.Asked[0], st.Asked[1]
		if one.Tag != 1 || one.Messages != 26 || one.PayloadBytes != 26*900 || !one.Last.Equal(last.Add(time.Second)) || one.Peers != 1 || one.MessageRate != nil {
			t.Errorf("got %+v, want 26 messages for 1, without a rate", one)
		}
		if two.Tag != 2 || two.Messages != 4 || two.PayloadBytes != 200 || !two.Last.Equal(last) || two.Peers != 0 || two.Losses != nil {
			t.Errorf("got %+v, want 4 messages for none", two)
		}
		if lost := p.TagLosses(s.Instance()); len(lost) != 1 || len(one.Losses) == 0 || fullAndOverflow(one.Losses) != [2]uint64{lost[0].Losses.Full, lost[0].Dropped.Overflowed} {
			t.Errorf("got losses %+v, want %+v", one.Losses, lost)
		}
		_, err = p.PublishBatch(batch)
		must(t, err)
		time.Sleep(2 * time.Second)
		st = stateOf(t, p, state.Question{Busiest: 1})
		if len(st.Busiest) != 1 || len(st.Asked) != 0 || st.Busiest[0].Tag != 2 || *st.Busiest[0].MessageRate != 2 || *st.Busiest[0].ByteRate != 100 {
			t.Errorf("got %+v, want tag 2 with 2 messages and 100 bytes a second", st.Busiest)
		}
	})
}

// An answer has no more than its limits, whatever is asked for.
func TestPublisher_State_limits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const known = 10_000
		b := newBed(t)
		all, err := tags.Range(0, known-1)
		must(t, err)
		p := b.publisher(bus.PublisherConfig{Tags: all})
		for tag := range tags.Tag(known) {
			must(t, p.Publish(tag, nil))
		}
		st := stateOf(t, p, state.Question{Peers: 1 << 30, Busiest: 1 << 30, Tags: all})
		if st.KnownTags != known || len(st.Busiest) != state.MaxTags || len(st.Asked) != state.MaxTags {
			t.Errorf("got %d tags, %d busiest and %d asked for, want %d and twice %d", st.KnownTags, len(st.Busiest), len(st.Asked), known, state.MaxTags)
		}
		st = stateOf(t, p, state.Question{Peers: -1, Busiest: -1})
		if st.KnownTags != known || len(st.Busiest)+len(st.Asked)+len(st.Peers) != 0 {
			t.Errorf("asked for less than nothing: got %+v", st)
		}
	})
}

// However a message is published, and to however many subscribers, its tag has its bytes
// and its second.
func TestPublisher_State_allWaysOfPublishingCountForTheTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tagRange(t, 0, 3)})
		for i, kind := range []bus.PolicyKind{bus.Block, bus.Latest, bus.Latest} { // tag 1 has one stream, tag 2 has several
			s := b.subscriber(bus.SubscriberConfig{})
			set := tags.Of(2)
			if i == 0 {
				set = tags.Of(1, 2)
			}
			sub, err := s.SubscribeWith(set, ignore, bus.SubscriptionConfig{Policy: bus.Policy{Kind: kind}})
			must(t, err)
			must(t, sub.Wait(t.Context()))
		}
		data := make([]byte, 100)
		ways := map[string]func(tags.Tag) error{
			"Publish":        func(tag tags.Tag) error { return p.Publish(tag, data) },
			"PublishStatus":  func(tag tags.Tag) error { return p.PublishStatus(tag, 1, data) },
			"PublishContext": func(tag tags.Tag) error { return p.PublishContext(t.Context(), tag, data) },
			"Tag":            func(tag tags.Tag) error { return p.Tag(tag).Publish(data) },
			"PublishBatch": func(tag tags.Tag) error {
				_, err := p.PublishBatch([]bus.Message{{Tag: tag, Data: data[:30]}, {Tag: tag, Data: data[:70]}})
				return err
			},
			"PublishZeroCopy": func(tag tags.Tag) error { return p.PublishZeroCopy(tag, 0, data, func() {}) },
		}
		bytes := uint64(0)
		time.Sleep(time.Second / 2) // not when the second changes
		for name, publish := range ways {
			for range 2 { // of which the second one may go a shorter way
				time.Sleep(time.Second)
				bytes += 100
				for tag := range tags.Tag(3) {
					must(t, publish(tag))
				}
				for _, tag := range stateOf(t, p, state.Question{Tags: tagRange(t, 0, 3)}).Asked {
					if tag.PayloadBytes != bytes || !tag.Last.Equal(time.Now().Truncate(time.Second)) {
						t.Errorf("%s: got %d bytes and %v of tag %v, want %d and %v", name, tag.PayloadBytes, tag.Last, tag.Tag, bytes, time.Now())
					}
				}
			}
		}
		for _, tag := range stateOf(t, p, state.Question{Tags: tagRange(t, 0, 3)}).Asked {
			if want := map[tags.Tag]int{0: 0, 1: 1, 2: 3}[tag.Tag]; tag.Peers != want || tag.Tag > 2 {
				t.Errorf("got %d lanes of tag %v, want %d", tag.Peers, tag.Tag, want)
			}
		}
	})
}

// A sender and a receiver know each other; one listens.
func TestSender_State_ofASenderAndAReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		r := b.receiver(bus.ReceiverConfig{Common: bus.Common{Name: "motor"}, Tags: tags.Of(1, 2)}, ignore)
		s := b.sender(bus.SenderConfig{Common: bus.Common{Name: "control"}, Tags: tags.Of(1, 2)})
		must(t, s.WaitReceivers(t.Context(), tags.Of(1, 2)))
		must(t, s.Send(1, make([]byte, 30)))
		time.Sleep(time.Second)
		from, to := stateOf(t, s, everything), stateOf(t, r, everything)
		if from.Role != state.Sender || len(from.Addresses) != 0 || from.Messages != 1 || len(from.Peers) != 1 || from.Peers[0].Instance != r.Instance() ||
			from.Peers[0].Name != "motor" || from.Peers[0].Messages != 1 || from.Peers[0].Address != r.Addr().String() {
			t.Errorf("got the sender %+v", from)
		}
		if to.Role != state.Receiver || len(to.Addresses) != 1 || to.Addresses[0] != r.Addr().String() || to.Messages != 1 || to.PayloadBytes != 30 ||
			to.Tags != tags.Of(1, 2).String() || len(to.Peers) != 1 || to.Peers[0].Instance != s.Instance() || to.Peers[0].Name != "control" {
			t.Errorf("got the receiver %+v", to)
		}
		// A receiver knows what it was sent, and nothing of the queues of its senders.
		if peer := to.Peers[0]; peer.Messages != 1 || peer.Pages != 1 || peer.Bytes != from.Peers[0].Bytes ||
			peer.FreeSends != nil || peer.MinFree != nil || peer.Queued != nil || peer.QueueLimit != nil {
			t.Errorf("got the sender at its receiver %+v, want what it was sent, and no queue", peer)
		}
		if peer := from.Peers[0]; peer.FreeSends == nil || peer.MinFree == nil || peer.Queued == nil || peer.QueueLimit == nil || *peer.QueueLimit == 0 {
			t.Errorf("got the receiver at its sender %+v, want its queue", peer)
		}
	})
}

// What came on the connection of a sender begins again with the next connection.
func TestReceiver_State_whatItWasSentIsOfOneConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, ignore)
		s := b.sender(bus.SenderConfig{Tags: tags.Of(1)})
		send := func() uint64 {
			must(t, s.WaitReceivers(t.Context(), tags.Of(1)))
			must(t, s.Send(1, make([]byte, 30)))
			time.Sleep(time.Second)
			return stateOf(t, r, everything).Peers[0].Messages
		}
		if first, second := send(), send(); first != 1 || second != 2 {
			t.Errorf("got %d and %d messages, want 1 and 2", first, second)
		}
		b.net.Reset(anybody, anyPort(s.host))
		time.Sleep(10 * time.Second)
		if n := send(); n != 1 {
			t.Errorf("after the connection was lost: got %d messages, want 1", n)
		}
	})
}

// A subscriber whose messages may be lost holds up no publisher, and there is no event
// that it is stalled. The state tells it all the same, until it goes on.
func TestPublisher_State_aLossySubscriberThatTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(small(bus.PublisherConfig{Common: bus.Common{HeartbeatInterval: bus.HeartbeatsOff}}))
		s := b.subscriber(bus.SubscriberConfig{Common: bus.Common{HeartbeatInterval: bus.HeartbeatsOff}})
		b.net.SetWindow(anybody, anyPort(s.host), 2048)
		sub, err := s.SubscribeWith(tags.Of(1), ignore, bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.DropOldest}})
		must(t, err)
		must(t, sub.Wait(t.Context()))
		time.Sleep(10 * time.Second)
		b.net.Stall(anybody, anyPort(s.host))
		stopped := time.Now()
		for range 30 {
			must(t, p.Publish(1, make([]byte, 900)))
		}
		time.Sleep(time.Minute)
		st := stateOf(t, p, everything)
		if st.Stalled != 1 || len(st.Peers) != 1 || st.Peers[0].StalledSince.Sub(stopped).Abs() > time.Second || state.Lost(st.Losses) < 20 {
			t.Errorf("got %+v, want one that is stalled since %v", st, stopped)
		}
		if got := p.of(bus.Stalled); len(got) != 0 {
			t.Errorf("got events %v, want none", got)
		}
		b.net.Resume(anybody, anyPort(s.host))
		time.Sleep(5 * time.Second)
		if st := stateOf(t, p, everything); st.Stalled != 0 || !st.Peers[0].StalledSince.IsZero() {
			t.Errorf("when it goes on: got %+v, want none that is stalled", st)
		}
	})
}

// fullAndOverflow returns what was lost in a lane, and in the queue of a subscription; of any
// other cause it makes both wrong.
func fullAndOverflow(losses []state.Loss) (n [2]uint64) {
	for _, l := range losses {
		switch l.Cause {
		case state.Full:
			n[0] += l.Messages
		case state.Overflow:
			n[1] += l.Messages
		case state.Memory, state.Connection, state.Ended, state.Panic:
			n[0]++
			n[1]++
		}
	}
	return n
}

// The busiest tags have their losses, as those that are asked for.
func TestPublisher_State_theBusiestTagsHaveTheirLosses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(small(bus.PublisherConfig{}))
		b.stuckOn(tags.Of(1), bus.Policy{Kind: bus.DropNewest})
		for range 100 {
			must(t, p.Publish(1, make([]byte, 900)))
		}
		time.Sleep(time.Second)
		st := stateOf(t, p, everything)
		if len(st.Busiest) != 1 || len(st.Asked) != 1 {
			t.Fatalf("got %+v and %+v, want tag 1 in both", st.Busiest, st.Asked)
		}
		if busiest, asked := st.Busiest[0], st.Asked[0]; state.Lost(busiest.Losses) == 0 || !reflect.DeepEqual(busiest, asked) {
			t.Errorf("got the busiest %+v, and asked for it is %+v", busiest, asked)
		}
	})
}

// Whatever is listed says since when.
func TestPublisher_everyEntryHasItsBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		b.receiver(bus.ReceiverConfig{Tags: tags.Of(2)}, ignore)
		entries, err := b.dir.List()
		must(t, err)
		if len(entries) != 2 {
			t.Fatalf("got %d entries, want 2", len(entries))
		}
		for _, e := range entries {
			if !e.Since.Equal(time.Now()) {
				t.Errorf("the %s: got since %v, want %v", e.Role, e.Since, time.Now())
			}
		}
	})
}
