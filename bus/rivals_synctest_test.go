// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/tags"
)

// origins records what came from which publisher.
type origins map[string]map[tags.Tag][]uint64

func (o origins) handle(m bus.Message) {
	if o[m.Publisher.Name] == nil {
		o[m.Publisher.Name] = make(map[tags.Tag][]uint64)
	}
	o[m.Publisher.Name][m.Tag] = append(o[m.Publisher.Name][m.Tag], m.Counter)
}

// rivals is two publishers of tag 2 and of one of their own each, old of 1 and
// young of 3, and a subscription to all.
type rivals struct {
	*bed
	old, young *publisher
	sub        *subscriber
	got        origins
}

func newRivals(t *testing.T, how bus.Duplicates) *rivals {
	t.Helper()
	r := &rivals{bed: newBed(t), got: make(origins)}
	r.old = r.publisher(bus.PublisherConfig{Common: bus.Common{Name: "old"}, Tags: tags.Of(1, 2)})
	r.sub = r.subscriber(bus.SubscriberConfig{})
	sub, err := r.sub.SubscribeWith(tags.Of(1, 2, 3), r.got.handle, bus.SubscriptionConfig{Duplicates: how})
	must(t, err)
	must(t, sub.Wait(t.Context()))
	r.publish(t, r.old, 1, 2)
	pass(time.Second)
	r.young = r.publisher(bus.PublisherConfig{Common: bus.Common{Name: "young"}, Tags: tags.Of(2, 3)})
	pass(time.Second)
	return r
}

// publish publishes a message of each tag, and waits until it has arrived where
// it is wanted.
func (r *rivals) publish(t *testing.T, p *publisher, list ...tags.Tag) {
	t.Helper()
	for _, tag := range list {
		must(t, p.Publish(tag, nil))
	}
	pass(time.Second)
}

func (r *rivals) round(t *testing.T) {
	t.Helper()
	r.publish(t, r.old, 1, 2)
	r.publish(t, r.young, 2, 3)
}

// wantAlarms checks the events about publishers of the same tag.
func (r *rivals) wantAlarms(t *testing.T, want ...tags.Set) {
	t.Helper()
	alarms := r.sub.of(bus.Duplicate)
	if len(alarms) != len(want) {
		t.Fatalf("got alarms %v, want %d", alarms, len(want))
	}
	for i, e := range alarms {
		if !e.Tags.Equal(want[i]) || e.Peer.Name != "young" || e.Other.Name != "old" || !errors.Is(e.Err, bus.ErrDuplicate) {
			t.Errorf("got %v, want young and old with tags %v", e, want[i])
		}
	}
	if got := r.sub.of(bus.Gap); len(got) > 0 {
		t.Errorf("got gaps %v, want none", got)
	}
}

func TestSubscriber_severalPublishersOfATag(t *testing.T) {
	tests := []struct {
		name string
		how  bus.Duplicates
		want origins
	}{
		{"all are delivered", bus.DuplicatesAll, origins{
			"old": {1: {1, 2}, 2: {1, 2}}, "young": {2: {1}, 3: {1}},
		}},
		{"the newest takes over", bus.DuplicatesNewest, origins{
			"old": {1: {1, 2}, 2: {1}}, "young": {2: {1}, 3: {1}},
		}},
		{"the later one is refused", bus.DuplicatesRefuse, origins{
			"old": {1: {1, 2}, 2: {1, 2}}, "young": {3: {1}},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRivals(t, test.how)
				r.round(t)
				if d := cmp.Diff(test.want, r.got); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
				r.wantAlarms(t, tags.Of(2))

				// A second alarm names only the tags that are new.
				must(t, r.young.AddTags(tags.Of(1)))
				pass(time.Second)
				r.round(t)
				r.wantAlarms(t, tags.Of(2), tags.Of(1, 2))
			})
		})
	}
}

func TestSubscriber_anotherPublisherOfTheSameTagTakesOver(t *testing.T) {
	tests := []struct {
		name  string
		how   bus.Duplicates
		young bool // it goes, and not the old one
		want  origins
	}{
		{"the old one after the newest", bus.DuplicatesNewest, true, origins{
			"old": {1: {1, 2, 3}, 2: {1, 3}}, "young": {2: {1}, 3: {1}},
		}},
		{"the later one after the first", bus.DuplicatesRefuse, false, origins{
			"old": {1: {1, 2}, 2: {1, 2}}, "young": {2: {2}, 3: {1, 2}},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRivals(t, test.how)
				r.round(t)
				stays := r.old
				if test.young {
					must(t, r.young.Drain(t.Context()))
					pass(time.Second) // the other one is asked, and acknowledges
					r.publish(t, r.old, 1, 2)
				} else {
					stays = r.young
					must(t, r.old.Drain(t.Context()))
					pass(time.Second)
					r.publish(t, r.young, 2, 3)
				}
				if d := cmp.Diff(test.want, r.got); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
				r.wantAlarms(t, tags.Of(2))
				must(t, stays.Drain(t.Context()))
				synctest.Wait()
				r.wantAlarms(t, tags.Of(2))
			})
		})
	}
}

// A later publisher that has only tags of the first one is not even dialed.
func TestSubscriber_doesNotConnectARefusedPublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		got := make(origins)
		first := b.publisher(bus.PublisherConfig{Common: bus.Common{Name: "first"}, Tags: tags.Of(1)})
		pass(time.Second)
		second := b.publisher(bus.PublisherConfig{Common: bus.Common{Name: "second"}, Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{})
		sub, err := s.SubscribeWith(tags.Of(1), got.handle, bus.SubscriptionConfig{Duplicates: bus.DuplicatesRefuse})
		must(t, err)
		must(t, sub.Wait(t.Context()))
		pass(time.Minute)
		if n := len(second.Stats().Subscribers); n != 0 {
			t.Errorf("got %d connections to the later publisher, want none", n)
		}
		// Killed, the first one stays in the directory: it is waited for.
		b.net.Kill(first.host)
		pass(time.Minute)
		if n := len(second.Stats().Subscribers); n != 0 {
			t.Errorf("the first one is lost: got %d connections to the later publisher, want none", n)
		}
		b.dir.Expire(first.Instance(), directory.ErrExpired)
		must(t, second.WaitSubscribers(t.Context(), 1, tags.Of(1)))
		must(t, second.Publish(1, nil))
		pass(time.Second)
		if d := cmp.Diff(origins{"second": {1: {1}}}, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

// A subscriber that comes later than both goes by the times that they gave
// the directory, not by their names there.
func TestSubscriber_thatIsLateTakesTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		var all []*publisher
		for range 8 {
			all = append(all, b.publisher(bus.PublisherConfig{Tags: tags.Of(1)}))
			pass(time.Millisecond)
		}
		must(t, all[3].RemoveTags(tags.Of(1)))
		must(t, all[3].AddTags(tags.Of(1))) // which makes it the last
		from := make(map[string]int)
		s := b.subscriber(bus.SubscriberConfig{})
		_, err := s.SubscribeWith(tags.Of(1), func(m bus.Message) { from[m.Publisher.Instance]++ },
			bus.SubscriptionConfig{Duplicates: bus.DuplicatesNewest})
		must(t, err)
		pass(time.Second)
		for _, p := range all {
			must(t, p.Publish(1, nil))
		}
		pass(time.Second)
		if d := cmp.Diff(map[string]int{all[3].Instance(): 1}, from); d != "" {
			t.Errorf("messages by publisher (-want +got):\n%s", d)
		}
	})
}

// Each subscription has its own way, on the same connection and lane.
func TestSubscription_eachHasItsOwnWayWithDuplicates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRivals(t, bus.DuplicatesAll)
		newest := make(origins)
		sub, err := r.sub.SubscribeWith(tags.Of(2), newest.handle, bus.SubscriptionConfig{Duplicates: bus.DuplicatesNewest})
		must(t, err)
		must(t, sub.Wait(t.Context()))
		pass(time.Second)
		r.round(t)
		if d := cmp.Diff(origins{"young": {2: {1}}}, newest); d != "" {
			t.Errorf("the newest (-want +got):\n%s", d)
		}
		if d := cmp.Diff(origins{"old": {1: {1, 2}, 2: {1, 2}}, "young": {2: {1}, 3: {1}}}, r.got); d != "" {
			t.Errorf("all (-want +got):\n%s", d)
		}
	})
}

// TestSubscriber_theOldOneTakesOverFromOneThatIsClosed: it leaves the directory first, and then its
// connection ends. The other one was not asked again.
func TestSubscriber_theOldOneTakesOverFromOneThatIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		old := b.publisher(bus.PublisherConfig{Common: bus.Common{Name: "old"}, Tags: tags.Of(1)})
		got := make(origins)
		s := b.subscriber(bus.SubscriberConfig{})
		_, err := s.SubscribeWith(tags.Of(1), got.handle, bus.SubscriptionConfig{Duplicates: bus.DuplicatesNewest})
		must(t, err)
		pass(time.Second)
		young := b.publisher(bus.PublisherConfig{Common: bus.Common{Name: "young"}, Tags: tags.Of(1)})
		pass(time.Second)
		publishEach(t, young, 1)
		must(t, young.Close())
		pass(time.Minute)
		publishEach(t, old, 1)
		if d := cmp.Diff(origins{"old": {1: {1}}, "young": {1: {1}}}, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}
