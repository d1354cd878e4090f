// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/tags"
)

// crossing returns n patterns of tags above 2^32, of which most meet each other.
func crossing(n int, seed uint64) tags.Set {
	random := rand.New(rand.NewPCG(seed, 0))
	sets := []tags.Set{}
	for range n {
		mask := tags.Tag(random.Uint64()&random.Uint64()&random.Uint64())&^1 | 2<<random.IntN(63)
		sets = append(sets, tags.Match(tags.Tag(random.Uint64())|1<<32, mask|1<<32))
	}
	return tags.Union(sets...)
}

// layered returns n patterns, of which each meets one of those of another layer: the
// difference of two has 18 pieces for each, less than the most that there may be.
func layered(n int, layer uint) tags.Set {
	sets := make([]tags.Set, n)
	for i := range sets {
		sets[i] = tags.Match(tags.Tag(i)|^tags.Tag(0xfff), 0xfff|0x3ffff<<(18*layer)<<12)
	}
	return tags.Union(sets...)
}

// announce puts an entry into the directory of a publisher that is not there.
func (b *bed) announce(instance, name string, role directory.Role, set tags.Set) directory.Registration {
	b.tb.Helper()
	r, err := b.dir.Announce(directory.Entry{
		Instance: instance, Name: name, Role: role, Backend: "memory", Tags: set,
		Addresses: []netip.AddrPort{netip.MustParseAddrPort("10.9.9.9:9")}, PageBytes: 1024, MaxMessageBytes: 1024,
	})
	must(b.tb, err)
	return r
}

// Three entries of 3,000 patterns each kept the loop busy for 20 s of processor time.
func TestSubscriber_refusesAnEntryThatIsTooLargeByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		got := newCollector()
		s := b.subscriber(bus.SubscriberConfig{})
		sender := b.sender(bus.SenderConfig{Tags: tags.Of(7)})
		_, err := s.SubscribeWith(tags.Everything(), got.handle, bus.SubscriptionConfig{Duplicates: bus.DuplicatesRefuse})
		must(t, err)
		var entries []directory.Registration
		for i := range 3 {
			entries = append(entries, b.announce(fmt.Sprintf("x%d", i), "large", directory.Publisher, layered(3000, uint(i))))
		}
		b.announce("y", "large", directory.Receiver, crossing(3000, 9))
		for i := range 3 { // it says so once
			entry := directory.Entry{
				Instance: "x0", Name: "large", Backend: "memory", Tags: layered(3000, uint(i)),
				Addresses: []netip.AddrPort{netip.MustParseAddrPort("10.9.9.9:9")}, PageBytes: 1024, MaxMessageBytes: 1024,
			}
			must(t, entries[0].Update(entry))
			time.Sleep(time.Second)
		}
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		must(t, p.WaitSubscribers(t.Context(), 1, tags.Of(1)))
		must(t, p.Publish(1, []byte("x")))
		time.Sleep(time.Second)
		if got.count() != 1 {
			t.Errorf("got %d messages of 1", got.count())
		}
		for who, m := range map[string]struct {
			*member
			want int
		}{"subscriber": {s.member, 3}, "sender": {sender.member, 1}} {
			problems := m.of(bus.Problem)
			if len(problems) != m.want {
				t.Errorf("%s: got %d problems, want %d, one for each entry: %.1000v", who, len(problems), m.want, problems)
			}
			for _, e := range problems {
				var limit *bus.EntryLimitError
				if !errors.As(e.Err, &limit) || !errors.Is(e.Err, bus.ErrEntryTooLarge) || limit.Masks < 2900 ||
					!strings.Contains(e.Err.Error(), limit.Instance) || !strings.Contains(e.Err.Error(), "large") {
					t.Errorf("%s: got %v, want the entry named, and how many masks it has", who, e)
				}
			}
		}
	})
}

// Entries within the limits can still be too many to compare. Then all is delivered, and
// each pair of publishers is named once.
func TestSubscriber_namesEntriesThatAreTooComplexOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hostile = 6
		b := newBed(t)
		got := newCollector()
		s := b.subscriber(bus.SubscriberConfig{})
		for i := range hostile {
			b.announce(fmt.Sprintf("x%d", i), "", directory.Publisher, crossing(250, uint64(i)))
		}
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		for range 3 {
			_, err := s.SubscribeWith(tags.Everything(), got.handle, bus.SubscriptionConfig{Duplicates: bus.DuplicatesRefuse})
			must(t, err)
		}
		time.Sleep(time.Second)
		must(t, p.Publish(1, []byte("x")))
		time.Sleep(time.Second)
		if got.count() != 3 {
			t.Errorf("got %d messages of 3", got.count())
		}
		named := make(map[string]int)
		for _, e := range s.of(bus.Problem) {
			if errors.Is(e.Err, tags.ErrTooComplex) {
				named[min(e.Peer.Instance, e.Other.Instance)+max(e.Peer.Instance, e.Other.Instance)]++
			}
		}
		for pair, n := range named {
			if n != 1 {
				t.Errorf("%s: got %d events, want 1", pair, n)
			}
		}
		if len(named) != hostile*(hostile-1)/2 {
			t.Errorf("got %d pairs named, want %d: %.1000v", len(named), hostile*(hostile-1)/2, s.events)
		}
	})
}

// Of more publishers of a tag than are compared, each two, it is told once. A tag of two comes from
// one of them all the same.
func TestSubscriber_tellsOfTooManyPublishersOfATagOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const strangers = 600
		b := newBed(t)
		got := newCollector()
		s := b.subscriber(bus.SubscriberConfig{})
		for i := range strangers {
			b.announce(fmt.Sprintf("x%d", i), "", directory.Publisher, tags.Of(1))
		}
		_, err := s.SubscribeWith(tags.Of(1, 7), got.handle, bus.SubscriptionConfig{Duplicates: bus.DuplicatesRefuse})
		must(t, err)
		for range 2 {
			p := b.publisher(bus.PublisherConfig{Tags: tags.Of(7)})
			time.Sleep(time.Second)
			must(t, p.Publish(7, []byte("x")))
			time.Sleep(time.Second)
		}
		if got.count() != 1 {
			t.Errorf("got %d messages, want that of the first publisher", got.count())
		}
		told := 0
		for _, e := range s.of(bus.Problem) {
			if errors.Is(e.Err, bus.ErrTooManyDuplicates) {
				told++
			}
		}
		if told != 1 {
			t.Errorf("told %d times, want once", told)
		}
	})
}

// A publisher or receiver announces nothing that others would refuse.
func TestPublisherConfig_Validate_theTagsOfAnEntryAreChecked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := crossing(300, 1)
		for name, err := range map[string]error{
			"publisher": bus.PublisherConfig{Tags: large}.Validate(),
			"receiver":  bus.ReceiverConfig{Tags: large}.Validate(),
		} {
			if !errors.Is(err, bus.ErrInvalidConfig) || !errors.Is(err, bus.ErrEntryTooLarge) {
				t.Errorf("%s: got %v, want ErrInvalidConfig and ErrEntryTooLarge", name, err)
			}
		}
		p := newBed(t).publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		if err := p.AddTags(large); !errors.Is(err, bus.ErrEntryTooLarge) || !p.Tags().Equal(tags.Of(1)) {
			t.Errorf("AddTags: got %v and the tags %v, want ErrEntryTooLarge and nothing added", err, p.Tags())
		}
		must(t, p.AddTags(tags.Everything()))
		if err := p.RemoveTags(crossing(20, 1)); !errors.Is(err, bus.ErrEntryTooLarge) && !errors.Is(err, tags.ErrTooComplex) || !p.Tags().Equal(tags.Everything()) {
			t.Errorf("RemoveTags: got %v and the tags %v, want an error and nothing removed", err, p.Tags())
		}
	})
}
