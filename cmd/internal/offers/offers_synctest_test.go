// SPDX-License-Identifier: Apache-2.0

//go:build linux

package offers

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/cmd/internal/cli"
	"tagbus/tags"
)

// beside is a subscriber of which the test says which publishers there are.
type beside struct {
	mu        sync.Mutex
	offers    bus.Offers
	connected int
	asked     []time.Time
}

func (b *beside) Stats() bus.SubscriberStats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bus.SubscriberStats{Publishers: b.connected}
}

func (b *beside) Offers(_ context.Context, wanted tags.Set) (bus.Offers, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, time.Now())
	o := b.offers
	o.Wanted = wanted
	return o, nil
}

func (b *beside) set(connected int, o bus.Offers) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.connected, b.offers, b.asked = connected, o, nil
}

// took returns after which times Offers was called since set.
func (b *beside) took(since time.Time) (all []time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, at := range b.asked {
		all = append(all, at.Sub(since))
	}
	return all
}

// said keeps what a console writes, for a test that looks while it writes.
type said struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

func TestASubscriberNamesTheNearestTagsAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out said
		s := new(beside)
		console := cli.NewConsole("subscriber", &out, cli.Log{LogFormat: cli.LogJournal})
		others := bus.Offers{Publishers: 2, Nearest: []bus.Offer{
			{Peer: &bus.Peer{Name: "near", Host: "pc"}, Tags: tags.Of(8)}, {Peer: &bus.Peer{Name: "far"}, Tags: tags.Of(100)},
		}}
		done, ended := make(chan struct{}), make(chan struct{})
		go func() { defer close(ended); Tell(console, s, nil, tags.Of(7), done) }()
		seconds := func(all ...int) (durations []time.Duration) {
			for _, n := range all {
				durations = append(durations, time.Duration(n)*time.Second)
			}
			return durations
		}
		for _, step := range []struct {
			what      string
			connected int
			offers    bus.Offers
			lasts     time.Duration
			asked     []time.Duration
			lines     int
		}{
			{"nothing is there", 0, bus.Offers{}, 6 * time.Second, seconds(2, 4, 6), 1},
			{"others are", 0, others, 100 * time.Second, seconds(2, 12, 32, 72), 4},
			{"one that has the tag is, and is being dialed", 0, bus.Offers{Publishers: 3, Serving: 1}, 100 * time.Second, seconds(52), 0},
			{"it is connected", 1, bus.Offers{Publishers: 3, Serving: 1}, 100 * time.Second, nil, 0},
			{"it has gone", 0, others, 20 * time.Second, seconds(2, 12), 2},
		} {
			s.set(step.connected, step.offers)
			begun, before := time.Now(), strings.Count(out.String(), "\n")
			time.Sleep(step.lasts)
			synctest.Wait()
			if got := s.took(begun); !slices.Equal(got, step.asked) {
				t.Errorf("%s: looked after %v, want %v", step.what, got, step.asked)
			}
			if got := strings.Count(out.String(), "\n") - before; got != step.lines {
				t.Errorf("%s: got %d lines, want %d: %s", step.what, got, step.lines, out.String())
			}
		}
		close(done)
		<-ended
		if err := console.Close(); err != nil {
			t.Error(err)
		}
		const line = "<4>2 publishers here, none of tags 0x0000000000000007; nearest sets: near@pc has 0x0000000000000008, far has 0x0000000000000064; " +
			"check --tags, or wait for a publisher that has them kind=waiting\n"
		const empty = "<6>the bus has no publisher: start one with the same --bus, or check --bus; this command waits for it kind=waiting\n"
		if want := empty + strings.Repeat(line, 6); out.String() != want {
			t.Errorf("got %q, want %q", out.String(), want)
		}
	})
}

// unanswered is a directory that answers when the test has it do so.
type unanswered struct {
	directory.Directory
	up  atomic.Bool
	err error // of List
}

func (d *unanswered) List() ([]directory.Entry, error) { return nil, d.err }

func (d *unanswered) Stats() directory.Stats { return directory.Stats{Up: d.up.Load()} }

// telling has Tell look at a bus without publishers. end ends it, and checks that it has said that once.
func telling(t *testing.T, d directory.Directory) (out *said, end func()) {
	t.Helper()
	out = new(said)
	console := cli.NewConsole("subscriber", out, cli.Log{LogFormat: cli.LogJournal})
	done, ended := make(chan struct{}), make(chan struct{})
	go func() { defer close(ended); Tell(console, new(beside), d, tags.Of(7), done) }()
	return out, func() {
		t.Helper()
		close(done)
		<-ended
		if err := console.Close(); err != nil {
			t.Error(err)
		}
		if got := out.String(); strings.Count(got, "the bus has no publisher") != 1 {
			t.Errorf("got %q, want that the bus has no publisher, once", got)
		}
	}
}

func TestNothingIsSaidOfABusWhoseDirectoryDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := new(unanswered)
		out, end := telling(t, d)
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := out.String(); got != "" {
			t.Errorf("of a bus of which nothing is known: got %q, want nothing", got)
		}
		d.up.Store(true)
		time.Sleep(2 * interval)
		end()
	})
}

func TestABusWhoseFolderIsMissingIsEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, end := telling(t, &unanswered{err: &file.PathError{Err: file.ErrVanished}})
		time.Sleep(2 * interval)
		end()
	})
}

func TestASenderIsToldWhichTagsHaveNoReceiver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out said
		s := new(beside)
		console := cli.NewConsole("publisher", &out, cli.Log{LogFormat: cli.LogJournal})
		var missing atomic.Bool
		missing.Store(true)
		done, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			TellSender(console, s, nil, func() (tags.Set, bool) { return tags.Of(7), missing.Load() }, func() uint64 { return 0 }, done)
		}()
		time.Sleep(7 * time.Second)
		s.set(0, bus.Offers{Publishers: 1, Nearest: []bus.Offer{{Peer: &bus.Peer{Name: "near", Host: "pc"}, Tags: tags.Of(8)}}})
		time.Sleep(2 * time.Second)
		missing.Store(false)
		time.Sleep(time.Hour)
		close(done)
		<-ended
		if err := console.Close(); err != nil {
			t.Error(err)
		}
		const want = "<6>the bus has no receiver: start subscriber --receive with the same --bus and --tags, or check --bus; this command waits for it kind=waiting\n" +
			"<4>1 publisher here, none of tags 0x0000000000000007; nearest sets: near@pc has 0x0000000000000008; check --tags, or wait for a receiver that has them kind=waiting\n"
		if out.String() != want { // only bus.Sender makes offers that are receivers
			t.Errorf("got %q, want %q", out.String(), want)
		}
	})
}

// A receiver whose policy has taken a tag is listed and connected, and the sender that waits for it said nothing.
func TestASenderThatIsHeldUpSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out said
		var sent atomic.Uint64
		console := cli.NewConsole("publisher", &out, cli.Log{LogFormat: cli.LogJournal})
		s, done, ended := new(beside), make(chan struct{}), make(chan struct{})
		s.set(1, bus.Offers{Publishers: 1, Serving: 1})
		go func() {
			defer close(ended)
			TellSender(console, s, nil, func() (tags.Set, bool) { return tags.Of(7), true }, sent.Load, done)
		}()
		for range 30 { // one message after the other waits for a while
			time.Sleep(time.Second)
			sent.Add(1)
		}
		if out.String() != "" {
			t.Errorf("got %q, want nothing while messages are sent", out.String())
		}
		time.Sleep(15 * time.Second)
		close(done)
		<-ended
		if err := console.Close(); err != nil {
			t.Error(err)
		}
		if got := out.String(); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "<4>nothing was sent for 10s: 0x0000000000000007 has a receiver here, and it takes nothing of it from this command: a policy (--acl)") {
			t.Errorf("got %q, want one line", got)
		}
	})
}

func TestAReceiverIsToldOfSenders(t *testing.T) {
	for _, senders := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			var out said
			console := cli.NewConsole("subscriber", &out, cli.Log{LogFormat: cli.LogJournal})
			TellReceiver(console, func() int { return senders }, nil)
			if err := console.Close(); err != nil {
				t.Error(err)
			}
			want := ""
			if senders == 0 {
				want = "<6>no sender is connected: start publisher --send with the same --bus and --tags, or check --bus; this command waits for it kind=waiting\n"
			}
			if out.String() != want {
				t.Errorf("with %d senders: got %q, want %q", senders, out.String(), want)
			}
		})
	}
}

// hiding is a directory that shows nothing of what it has.
type hiding struct{ directory.Directory }

func (hiding) List() ([]directory.Entry, error) { return nil, directory.ErrHidden }

// TestWhatTheDirectoryHidesMayBeThere: it was said that the bus has no publisher, and that one is to be started.
func TestWhatTheDirectoryHidesMayBeThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out said
		console := cli.NewConsole("subscriber", &out, cli.Log{LogFormat: cli.LogJournal})
		done, ended := make(chan struct{}), make(chan struct{})
		go func() { defer close(ended); Tell(console, new(beside), hiding{}, tags.Of(7), done) }()
		time.Sleep(2 * interval)
		synctest.Wait()
		if got := out.String(); !strings.Contains(got, "the directory shows no publisher, and is not read whole") || strings.Contains(got, "start one") {
			t.Errorf("got %q, want that one may be hidden", got)
		}
		close(done)
		<-ended
		if err := console.Close(); err != nil {
			t.Error(err)
		}
	})
}
