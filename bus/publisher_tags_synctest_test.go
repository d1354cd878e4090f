// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/tags"
)

func tagRange(tb testing.TB, lo, hi tags.Tag) tags.Set {
	tb.Helper()
	set, err := tags.Range(lo, hi)
	must(tb, err)
	return set
}

func TestPublisher_AddTags_deliversFromTheFirstMessage(t *testing.T) {
	tests := []struct {
		name  string
		first tags.Set // of the publisher, at first
		set   tags.Set // of the subscription
	}{
		{"to a subscription that has other tags of the publisher", tags.Of(1), tags.Of(1, 2, 3, 4, 5)},
		{"to one that had none of its tags", tags.Of(9), tags.Of(2, 3, 4, 5)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: test.first})
				s := b.subscriber(bus.SubscriberConfig{})
				c := newCollector()
				_, err := s.Subscribe(test.set, c.handle)
				must(t, err)
				pass(time.Second)
				must(t, p.AddTags(tagRange(t, 2, 4)))
				if want := test.first.Union(tagRange(t, 2, 4)); !p.Tags().Equal(want) {
					t.Errorf("tags: got %v, want %v", p.Tags(), want)
				}
				if test.first.Contains(1) { // it is subscribed already: nothing to wait for
					must(t, p.Publish(3, []byte("first")))
				}
				must(t, p.WaitSubscribers(t.Context(), 1, tags.Of(2, 3, 4)))
				must(t, p.Publish(3, []byte("second")))
				must(t, p.Drain(t.Context()))
				synctest.Wait()
				want := []string{"second"}
				if test.first.Contains(1) {
					want = []string{"first", "second"}
				}
				if d := cmp.Diff(want, c.data[3]); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
				if c.last[3] != uint64(len(want)) || len(s.of(bus.Gap)) > 0 {
					t.Errorf("last counter: got %d, want %d; gaps %v", c.last[3], len(want), s.of(bus.Gap))
				}
			})
		})
	}
}

func TestPublisher_RemoveTags_theLastMessagesArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Sending: bus.Sending{FlushInterval: time.Hour}})
		s := b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		subscribe(t, s, tags.Of(1, 2), c.handle)
		for range 3 {
			must(t, p.Publish(1, nil))
			must(t, p.Publish(2, nil))
		}
		must(t, p.RemoveTags(tags.Of(1, 7)))
		if err := p.Publish(1, nil); !errors.Is(err, bus.ErrUnknownTag) {
			t.Errorf("publish of the removed tag: got %v, want ErrUnknownTag", err)
		}
		must(t, p.Publish(2, nil))
		synctest.Wait()
		if c.last[1] != 3 || c.last[2] != 3 { // the page with them was sent, the next one is open
			t.Errorf("received: got %v, want 3 of tag 1 and 3 of tag 2", c.last)
		}
		entries, err := b.dir.List()
		must(t, err)
		if !entries[0].Tags.Equal(tags.Of(2)) {
			t.Errorf("directory: got tags %v, want 2", entries[0].Tags)
		}

		must(t, p.AddTags(tags.Of(1))) // its positions go on
		must(t, p.Publish(1, nil))
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		if c.last[1] != 4 || c.last[2] != 4 || len(c.bad) > 0 || len(s.of(bus.Gap)) > 0 {
			t.Errorf("received: got %v, want 4 of each; %v, gaps %v", c.last, c.bad, s.of(bus.Gap))
		}
	})
}

// A subscriber that is away when a tag is removed comes back to settle its account,
// although the directory no longer lists any tag that it wants.
func TestPublisher_RemoveTags_isAccountedForAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s := b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		subscribe(t, s, tags.Of(1), c.handle)
		must(t, p.Publish(1, nil))
		pass(time.Second)
		b.net.Refuse(p.Addr())
		b.net.Reset(anyPort(p.host), anyPort(s.host))
		synctest.Wait()
		for range 4 {
			must(t, p.Publish(1, nil))
		}
		must(t, p.RemoveTags(tags.Of(1)))
		b.net.Admit(p.Addr())
		pass(time.Minute)
		if got := gaps(s.member)[1]; got != 4 {
			t.Errorf("gaps: got %d messages, want 4; events %v", got, s.events)
		}
		must(t, p.AddTags(tags.Of(1)))
		must(t, p.Publish(1, nil))
		pass(time.Second)
		if c.last[1] != 6 || c.count() != 2 || gaps(s.member)[1] != 4 {
			t.Errorf("after it was added again: got %v and %d messages, gaps %v; want counter 6", c.last, c.count(), gaps(s.member))
		}
	})
}

func TestPublisher_PublishContext_endsWhenItsTagIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{PageBytes: 1024, QueueBytes: 4096, MaxMessageBytes: 1024}})
		s := b.subscriber(bus.SubscriberConfig{})
		subscribe(t, s, tags.Of(1), func(bus.Message) {})
		b.stall(s.host)
		fill(t, p, 1)
		result := make(chan error, 1)
		go func() { result <- p.PublishContext(context.Background(), 1, make([]byte, 900)) }()
		synctest.Wait()
		must(t, p.RemoveTags(tags.Of(1)))
		if err := <-result; !errors.Is(err, bus.ErrUnknownTag) {
			t.Errorf("got %v, want ErrUnknownTag", err)
		}
		b.net.Resume(anybody, anyPort(s.host))
	})
}

// faulty is a directory whose entries cannot be changed.
type faulty struct{ directory.Directory }

type faultyRegistration struct{ directory.Registration }

var errDisk = errors.New("disk full")

func (f faulty) Announce(e directory.Entry) (directory.Registration, error) {
	r, err := f.Directory.Announce(e)
	return faultyRegistration{r}, err
}

func (faultyRegistration) Update(directory.Entry) error { return errDisk }

func TestPublisher_changesOfTagsThatCannotBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p, _ := b.openPublisher(faulty{b.dir}, bus.PublisherConfig{Tags: tags.Of(1, 2)})
		if err := p.AddTags(tags.Of(3)); !errors.Is(err, errDisk) {
			t.Errorf("add to a directory that is full: got %v, want %v", err, errDisk)
		}
		if err := p.Publish(3, nil); !errors.Is(err, bus.ErrUnknownTag) {
			t.Errorf("a tag that could not be announced: got %v, want ErrUnknownTag", err)
		}
		if err := p.RemoveTags(tags.Of(2)); !errors.Is(err, errDisk) {
			t.Errorf("remove from a directory that is full: got %v, want %v", err, errDisk)
		}
		if err := p.Publish(2, nil); !errors.Is(err, bus.ErrUnknownTag) {
			t.Errorf("a removed tag that the directory still has: got %v, want ErrUnknownTag", err)
		}
		must(t, p.Drain(t.Context()))
		for name, change := range map[string]func(tags.Set) error{"add": p.AddTags, "remove": p.RemoveTags} {
			if err := change(tags.Of(1)); !errors.Is(err, bus.ErrClosed) {
				t.Errorf("%s after Drain: got %v, want ErrClosed", name, err)
			}
		}
	})
}

// flaky is a directory whose entries cannot be changed while it is full.
type flaky struct {
	directory.Directory
	full bool
}

type flakyRegistration struct {
	directory.Registration
	dir *flaky
}

func (f *flaky) Announce(e directory.Entry) (directory.Registration, error) {
	r, err := f.Directory.Announce(e)
	return flakyRegistration{r, f}, err
}

func (r flakyRegistration) Update(e directory.Entry) error {
	if r.dir.full {
		return errDisk
	}
	return r.Registration.Update(e)
}

// A tag that was removed while the directory could not be changed does not come back
// with the next change.
func TestPublisher_RemoveTags_aRemovedTagStaysRemoved(t *testing.T) {
	tests := []struct {
		name   string
		change func(*bus.Publisher) error
		want   tags.Set
	}{
		{"when another one is removed", func(p *bus.Publisher) error { return p.RemoveTags(tags.Of(1)) }, tags.Of(3)},
		{"when another one is added", func(p *bus.Publisher) error { return p.AddTags(tags.Of(4)) }, tags.Of(1, 3, 4)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				dir := &flaky{Directory: b.dir, full: true}
				p, _ := b.openPublisher(dir, bus.PublisherConfig{Tags: tags.Of(1, 2, 3)})
				if err := p.RemoveTags(tags.Of(2)); !errors.Is(err, errDisk) {
					t.Errorf("remove from a directory that is full: got %v, want %v", err, errDisk)
				}
				dir.full = false
				must(t, test.change(p))
				if !p.Tags().Equal(test.want) {
					t.Errorf("tags: got %v, want %v", p.Tags(), test.want)
				}
				if err := p.Publish(2, nil); !errors.Is(err, bus.ErrUnknownTag) {
					t.Errorf("publish the removed tag: got %v, want ErrUnknownTag", err)
				}
				entries, err := b.dir.List()
				must(t, err)
				if len(entries) != 1 || !entries[0].Tags.Equal(test.want) {
					t.Errorf("directory: got %v, want one entry with tags %v", entries, test.want)
				}
			})
		})
	}
}

// A subscriber need not wait for the publisher's end to know that it has all.
func TestPublisher_RemoveTags_tellsTheFinalPosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2)})
		s := b.subscriber(bus.SubscriberConfig{})
		c := newCollector()
		sub, err := s.SubscribeWith(tags.Of(1, 2), c.handle, bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.Sample, Every: 5}})
		must(t, err)
		must(t, sub.Wait(t.Context()))
		for range 3 {
			must(t, p.Publish(1, nil))
		}
		must(t, p.RemoveTags(tags.Of(1)))
		pass(time.Minute)
		if got := gaps(s.member)[1]; c.count() != 1 || got != 2 {
			t.Errorf("got %d messages and gaps of %d, want 1 and 2", c.count(), got)
		}
	})
}
