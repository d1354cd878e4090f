// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
	"tagbus/tags"
)

// The directory entry of a publisher could not be renewed. Subscribers no longer found
// the publisher, and it reported nothing.
func TestPublisher_reportsAnEntryThatCannotBeRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(2)}, func(bus.Message) {})
		full := errors.New("no space left")
		for _, instance := range []string{p.Instance(), r.Instance()} {
			for range 2 {
				b.dir.Fail(instance, full)
				time.Sleep(time.Second)
				b.dir.Fail(instance, errors.New("another cause"))
				time.Sleep(2 * time.Second)
				b.dir.Fail(instance, nil)
				time.Sleep(time.Second)
			}
		}
		synctest.Wait()
		for _, m := range []*member{p.member, r.member} {
			events := m.of(bus.Problem)
			if len(events) != 4 {
				t.Fatalf("got events %v, want 4", events)
			}
			for i, e := range events {
				var entry *bus.EntryError
				if !errors.As(e.Err, &entry) || !errors.Is(e.Err, full) || entry.Over != (i%2 == 1) {
					t.Fatalf("event %d: got %v, want it to begin and to end in turn, for the first cause", i, e)
				}
				if want := 3 * time.Second; entry.Over && entry.Lasted != want {
					t.Errorf("event %d: got %v, want it to have lasted %v", i, entry.Lasted, want)
				}
			}
			if got := events[1].String(); !strings.Contains(got, "renewed again, after 3s") {
				t.Errorf("got %q, want how long it lasted", got)
			}
		}
	})
}

// TestPublisher_anEntryThatIsWithdrawnHasNoProblem: the end of a publisher is no news.
func TestPublisher_anEntryThatIsWithdrawnHasNoProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		must(t, p.Drain(t.Context()))
		b.dir.Fail(p.Instance(), errors.New("no space left"))
		must(t, p.Close())
		synctest.Wait()
		if got := p.of(bus.Problem); len(got) > 0 {
			t.Errorf("got %v, want no problem", got)
		}
	})
}

// late is a directory that is away when an entry is announced.
type late struct {
	*memory.Directory
	why error
}

func (l late) Announce(e directory.Entry) (directory.Registration, error) {
	r, err := l.Directory.Announce(e)
	l.Fail(e.Instance, l.why)
	return r, err
}

// An entry that was never there is another thing than one that is not renewed.
func TestPublisher_reportsAnEntryThatIsAnnouncedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		m := b.member()
		away := errors.New("no server answers")
		p, err := bus.NewPublisher(b.opener(m), late{b.dir, away}, bus.PublisherConfig{
			Tags: tags.Of(1), Listening: bus.Listening{Listen: anyPort(m.host)}, Common: bus.Common{OnEvent: m.note},
		})
		must(t, err)
		defer m.loop.Close()
		defer func() { must(t, p.Close()) }()
		time.Sleep(3 * time.Second)
		b.dir.Fail(p.Instance(), nil)
		time.Sleep(time.Second)
		b.dir.Fail(p.Instance(), away)
		synctest.Wait()
		var got []string
		for _, e := range m.of(bus.Problem) {
			got = append(got, e.String())
		}
		want := []string{
			"problem: bus: the entry is not in the directory yet, so that no other program finds this one: no server answers",
			"problem: bus: the entry is in the directory now, 3s late",
			"problem: bus: the entry in the directory cannot be renewed, so that others find an old one, or none when it has expired: no server answers",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}
