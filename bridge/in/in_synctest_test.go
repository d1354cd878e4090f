// SPDX-License-Identifier: Apache-2.0

package in_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"tagbus/bridge/durable"
	"tagbus/bridge/in"
	"tagbus/bridge/internal/memlog"
	"tagbus/bridge/record"
	"tagbus/bus"
	"tagbus/bus/directory/memory"
	"tagbus/internal/testkit/memnet"
	"tagbus/tags"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var alice = &bus.Peer{Instance: "ALICE", Name: "alice"}

// site is a bus in memory with a subscriber.
type site struct {
	t       *testing.T
	network *memnet.Network
	dir     *memory.Directory
	loops   []*memnet.Loop
	got     []string // the messages that have come
	at      []time.Time
	ended   []error // of the goodbyes
}

// NewPublisher implements in.Opener.
func (s *site) NewPublisher(cfg bus.PublisherConfig) (*bus.Publisher, error) {
	host := netip.MustParseAddr("10.0.0.2")
	cfg.Listen = netip.AddrPortFrom(host, 0)
	return bus.NewPublisher(s.network.Opener(s.loop(), memnet.Config{Host: host}), s.dir, cfg)
}

func (s *site) loop() *memnet.Loop {
	l := memnet.NewLoop()
	s.loops = append(s.loops, l)
	return l
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, network: memnet.New(), dir: memory.New()}
	sub, err := bus.NewSubscriber(s.network.Opener(s.loop(), memnet.Config{Host: netip.MustParseAddr("10.0.0.1")}), s.dir, bus.SubscriberConfig{
		Common: bus.Common{OnEvent: func(e bus.Event) {
			if e.Kind == bus.Goodbye {
				s.ended = append(s.ended, e.Err)
			}
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = sub.Subscribe(tags.Everything(), func(m bus.Message) {
		s.got = append(s.got, fmt.Sprintf("%d:%d:%s", m.Tag, m.Status, m.Data))
		s.at = append(s.at, time.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = sub.Close()
		for _, l := range s.loops {
			l.Close()
		}
		_ = s.dir.Close()
	})
	return s
}

// run publishes a log, and returns when the subscriber has been told all of it.
func (s *site) run(log durable.Log, cfg in.Config) (in.Report, error) {
	s.t.Helper()
	defer synctest.Wait()
	return in.Run(s.t.Context(), s, log, cfg)
}

// fill is a log that is being filled.
type fill struct {
	t    *testing.T
	log  *memlog.Log
	last map[durable.Key]durable.Position
}

func newFill(t *testing.T) *fill {
	t.Helper()
	return &fill{t, memlog.New(1<<20, nil), make(map[durable.Key]durable.Position)}
}

func (f *fill) add(tag tags.Tag, data []byte) {
	f.t.Helper()
	key := durable.Key{Tag: tag, Instance: alice.Instance}
	f.log.Append(durable.Append{Key: key, After: f.last[key], Data: data, Done: func(at durable.Position, err error) {
		if err != nil {
			f.t.Fatal(err)
		}
		f.last[key] = at
	}})
}

// mark adds a record without messages.
func (f *fill) mark(tag tags.Tag, r record.Record) {
	f.t.Helper()
	r.Tag, r.Peer, r.Time = tag, alice, time.Now()
	f.add(tag, record.Append(nil, &r))
}

// messages adds messages that came a second after each other.
func (f *fill) messages(tag tags.Tag, first uint64, begin time.Time, data ...string) {
	f.t.Helper()
	var b record.Batch
	for i, text := range data {
		m := bus.Message{Tag: tag, Counter: first + uint64(i), Publisher: alice, Status: bus.Status(i), Data: []byte(text)}
		at := begin.Add(time.Duration(i) * time.Second)
		if i == 0 {
			b.Begin(nil, at, &m)
		}
		b.Add(at, &m)
	}
	f.add(tag, b.Seal())
}

// config makes Run wait for the subscriber.
var config = in.Config{Subscribers: 1}

// TestRun_publishesWhatIsInTheLog once, and counts what is not.
func TestRun_publishesWhatIsInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := newFill(t), newSite(t)
		f.mark(1, record.Record{Kind: record.Begin, First: 4})
		f.messages(1, 4, time.Now(), "a", "b")
		f.messages(1, 5, time.Now(), "b", "c") // b again
		f.mark(1, record.Record{Kind: record.Lost, First: 7, Count: 3})
		f.messages(2, 1, time.Now(), "x")
		f.messages(1, 12, time.Now(), "d") // 10 and 11 are nowhere
		f.mark(1, record.Record{Kind: record.End, First: 13, How: record.Vanished})
		report, err := s.run(f.log, config)
		if err != nil {
			t.Fatal(err)
		}
		want := in.Report{Messages: 5, Bytes: 5, Records: 7, Chains: 2, Lost: 3, Hole: 2, Unknown: 1, Repeated: 1, Last: 7}
		if report != want {
			t.Errorf("got %+v, want %+v", report, want)
		}
		if want := []string{"1:0:a", "1:1:b", "1:1:c", "2:0:x", "1:0:d"}; !slices.Equal(s.got, want) {
			t.Errorf("got %q, want %q", s.got, want)
		}
		if !slices.Equal(s.ended, []error{nil}) {
			t.Errorf("got the goodbyes %v, want one", s.ended)
		}
	})
}

// TestRun_keepsThePace of the source, or a multiple of it.
func TestRun_keepsThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := newFill(t), newSite(t)
		f.messages(1, 1, time.Now(), "a", "b", "c")
		f.messages(2, 1, time.Now().Add(time.Second), "late", "x")
		cfg := config
		cfg.Speed = 2
		if _, err := s.run(f.log, cfg); err != nil {
			t.Fatal(err)
		}
		var got []time.Duration
		for _, at := range s.at {
			got = append(got, at.Sub(s.at[0]).Round(50*time.Millisecond))
		}
		if want := []time.Duration{0, 500 * time.Millisecond, time.Second, time.Second, time.Second}; !slices.Equal(got, want) {
			t.Errorf("got messages after %v, want %v", got, want)
		}
	})
}

// TestRun_follows what is appended, with tags that are new, until the context ends.
func TestRun_follows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := newFill(t), newSite(t)
		ctx, cancel := context.WithCancel(t.Context())
		cfg := config
		cfg.Query = durable.Query{Follow: true, Tags: tags.Of(1, 2)}
		var report in.Report
		done := make(chan error, 1)
		go func() {
			var err error
			report, err = in.Run(ctx, s, f.log, cfg)
			done <- err
		}()
		synctest.Wait()
		f.messages(1, 1, time.Now(), "a")
		f.messages(3, 1, time.Now(), "not wanted")
		time.Sleep(time.Minute)
		f.messages(2, 1, time.Now(), "b") // the subscriber finds the tag meanwhile
		time.Sleep(time.Minute)
		f.messages(2, 2, time.Now(), "c")
		time.Sleep(time.Minute)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("got %v, want nil", err)
		}
		if report.Messages != 3 || report.Last != 4 || !slices.Contains(s.got, "1:0:a") || !slices.Contains(s.got, "2:0:c") || slices.Contains(s.got, "3:0:not wanted") {
			t.Errorf("got %q and %+v, want messages of the tags 1 and 2", s.got, report)
		}
	})
}

// What only ends by its context may be waiting for subscribers then, as it may for records.
func TestRun_endsWhileItWaitsForSubscribers(t *testing.T) {
	for _, follow := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f, s := newFill(t), newSite(t)
			f.messages(1, 1, time.Now(), "a")
			ctx, cancel := context.WithCancelCause(t.Context())
			stopped := errors.New("stopped")
			done := make(chan error, 1)
			go func() {
				_, err := in.Run(ctx, s, f.log, in.Config{Subscribers: 2, Query: durable.Query{Follow: follow}})
				done <- err
			}()
			time.Sleep(time.Minute)
			cancel(stopped)
			if err := <-done; follow && err != nil || !follow && !errors.Is(err, stopped) {
				t.Errorf("follow %t: got %v, want nil, or if it does not follow %v", follow, err, stopped)
			}
		})
	}
}

// A bridge that writes the bus into the log that is published there made of each message any number.
func TestRun_goesRoundOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := newFill(t), newSite(t)
		f.messages(1, 1, time.Now(), "a")
		cfg := config
		cfg.Query.Follow = true
		cfg.OnPublisher = func(p *bus.Publisher) error {
			own := durable.Key{Tag: 1, Instance: p.Instance()}
			begin := record.Append(nil, &record.Record{Kind: record.Begin, Tag: 1, Peer: &bus.Peer{Instance: own.Instance}, Time: time.Now(), First: 1})
			f.log.Append(durable.Append{Key: own, Data: begin, Done: func(durable.Position, error) {}})
			return nil
		}
		report, err := s.run(f.log, cfg)
		if circle := (*in.CircleError)(nil); !errors.As(err, &circle) || circle.Position != 2 || circle.Log == "" {
			t.Errorf("got %v, want a CircleError of record 2", err)
		}
		if report.Messages != 1 || !slices.Equal(s.got, []string{"1:0:a"}) {
			t.Errorf("got %q and %+v, want the message once", s.got, report)
		}
	})
}

// TestRun_aLogThatIsAway is asked again while it is followed: each message comes once.
func TestRun_aLogThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := newFill(t), newSite(t)
		f.messages(1, 1, time.Now(), "a")
		log := f.log.Reopen(nil)
		ctx, cancel := context.WithCancel(t.Context())
		cfg := config
		cfg.Query.Follow = true
		var problems []error
		cfg.OnProblem = func(err error) { problems = append(problems, err) }
		done := make(chan error, 1)
		go func() {
			_, err := in.Run(ctx, s, log, cfg)
			done <- err
		}()
		time.Sleep(time.Second)
		log.SetAway(true)
		f.messages(1, 2, time.Now(), "b")
		time.Sleep(time.Minute)
		log.SetAway(false)
		time.Sleep(time.Minute)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("got %v, want nil", err)
		}
		if want := []string{"1:0:a", "1:0:b"}; !slices.Equal(s.got, want) {
			t.Errorf("got %q, want %q", s.got, want)
		}
		if len(problems) != 1 || !errors.Is(problems[0], memlog.ErrAway) {
			t.Errorf("got the problems %v, want one of the outage", problems)
		}
	})
}

// TestRun_names what it cannot read, and tells subscribers that it has failed.
func TestRun_names(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := newFill(t), newSite(t)
		f.messages(1, 1, time.Now(), "a")
		f.add(1, []byte("something else"))
		_, err := s.run(f.log, config)
		var read *in.ReadError
		var format *record.FormatError
		if !errors.As(err, &read) || read.Position != 2 || !errors.As(err, &format) || !strings.Contains(err.Error(), "memory: entry 2: ") {
			t.Errorf("got %v, want a *ReadError of entry 2", err)
		}
		if len(s.ended) != 1 || s.ended[0] == nil {
			t.Errorf("got the goodbyes %v, want one of a failure", s.ended)
		}
		cfg := config
		cfg.Query.Start.After = 1
		f.log.Drop(2)
		var gap *durable.GapError
		if _, err := in.Run(t.Context(), s, f.log, cfg); !errors.As(err, &gap) {
			t.Errorf("got %v, want a *durable.GapError", err)
		}
		f.log.SetAway(true)
		if _, err := in.Run(t.Context(), s, f.log, config); !errors.Is(err, memlog.ErrAway) {
			t.Errorf("got %v, want that of the log", err)
		}
	})
}

// TestConfig_Validate names each violation.
func TestConfig_Validate(t *testing.T) {
	err := in.Config{Speed: -1, Subscribers: -1, MaxChains: -1, Publisher: bus.PublisherConfig{Tags: tags.Of(1)}}.Validate()
	if !errors.Is(err, in.ErrInvalidConfig) {
		t.Fatalf("got %v, want ErrInvalidConfig", err)
	}
	for _, want := range []string{"Speed is -1", "Subscribers is -1", "MaxChains is -1", "Publisher.Tags are set"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if err := config.Validate(); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

// TestRun_aHostileLog takes bounded memory, and no sum becomes small again.
func TestRun_aHostileLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := newFill(t), newSite(t)
		f.messages(1, 1, time.Now(), make([]string, 20_000)...)
		for tag := range tags.Tag(3) {
			f.mark(2+tag, record.Record{Kind: record.Begin, First: 1})
			f.mark(2+tag, record.Record{Kind: record.Lost, First: math.MaxInt64 - 3, Count: 2})
		}
		report, err := in.Run(t.Context(), s, f.log, config)
		if err != nil || report.Messages != 20_000 || report.Hole != math.MaxUint64 {
			t.Errorf("got %+v, %v, want 20000 messages, and the sum of the holes at its largest", report, err)
		}
		var many *in.TooManyError
		cfg := config
		cfg.MaxChains = 3
		if _, err := in.Run(t.Context(), s, f.log, cfg); !errors.As(err, &many) || many.Limit != 3 {
			t.Errorf("got %v, want a *TooManyError", err)
		}
	})
}
