// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tagbus/bridge/convert"
	"tagbus/bridge/durable"
	"tagbus/bridge/internal/memlog"
	"tagbus/bridge/out"
	"tagbus/bus"
	"tagbus/bus/directory/memory"
	"tagbus/internal/testkit/memnet"
	"tagbus/recording"
	"tagbus/tags"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a bus in memory, in which each process has a host of its own.
type site struct {
	t       *testing.T
	network *memnet.Network
	dir     *memory.Directory
	host    netip.Addr
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, network: memnet.New(), dir: memory.New(), host: netip.MustParseAddr("10.0.0.1")}
	t.Cleanup(func() { s.must(s.dir.Close()) })
	return s
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// process is a host of its own, which opens publishers and subscribers.
type process struct {
	*site
	loop *memnet.Loop
	host netip.Addr
}

func (s *site) process() *process {
	s.t.Helper()
	loop := memnet.NewLoop()
	s.t.Cleanup(loop.Close)
	s.host = s.host.Next()
	return &process{s, loop, s.host}
}

// NewSubscriber implements out.Opener.
func (p *process) NewSubscriber(cfg bus.SubscriberConfig) (*bus.Subscriber, error) {
	return bus.NewSubscriber(p.network.Opener(p.loop, memnet.Config{Host: p.host}), p.dir, cfg)
}

// NewPublisher implements in.Opener.
func (p *process) NewPublisher(cfg bus.PublisherConfig) (*bus.Publisher, error) {
	cfg.Listen = netip.AddrPortFrom(p.host, 0)
	return bus.NewPublisher(p.network.Opener(p.loop, memnet.Config{Host: p.host}), p.dir, cfg)
}

// pump is a publisher.
type pump struct {
	name string
	*bus.Publisher
	*process
	at netip.Addr
}

func (s *site) pump(name string, set tags.Set) *pump {
	s.t.Helper()
	p := s.process()
	pub, err := p.NewPublisher(bus.PublisherConfig{
		Tags: set, Common: bus.Common{Name: name},
		Sending: bus.Sending{PageBytes: 4096, MaxMessageBytes: 4000, QueueBytes: 64 << 10, PoolBytes: 4 << 20, CacheMessages: 5},
	})
	s.must(err)
	s.t.Cleanup(func() { _ = pub.Close() })
	return &pump{name, pub, p, p.host}
}

// publish publishes messages of a tag, with statuses, a millisecond after each other.
func (p *pump) publish(tag tags.Tag, n int) {
	p.t.Helper()
	for i := range n {
		p.must(p.PublishStatusContext(p.t.Context(), tag, bus.Status(i%3), binary.BigEndian.AppendUint64([]byte(p.name), uint64(i))))
		p.Flush()
		pass(time.Millisecond)
	}
}

// pass lets time pass, of a bubble.
func pass(d time.Duration) { <-time.After(d) }

// end says goodbye.
func (p *pump) end(why error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = p.DrainFailed(ctx, why)
	p.must(p.Close())
}

// recorder records at the source, as tagbus record does.
type recorder struct {
	*site
	host netip.Addr
	sub  *bus.Subscriber
	ask  chan struct{}
	over context.CancelFunc
	all  sync.WaitGroup

	mu    sync.Mutex
	file  bytes.Buffer
	to    *recording.Writer
	known map[durable.Key]bool
}

func (s *site) record(cfg bus.SubscriptionConfig) *recorder {
	s.t.Helper()
	p := s.process()
	r := &recorder{site: s, host: p.host, ask: make(chan struct{}, 1), known: make(map[durable.Key]bool)}
	var err error
	r.to, err = recording.NewWriter(&r.file, recording.Header{}, recording.Config{})
	s.must(err)
	r.sub, err = p.NewSubscriber(bus.SubscriberConfig{Common: bus.Common{OnEvent: r.event}})
	s.must(err)
	_, err = r.sub.SubscribeBatch(tags.Everything(), func(page []bus.Message) {
		r.mu.Lock()
		defer r.mu.Unlock()
		s.must(r.to.AppendPage(time.Now(), page))
	}, cfg)
	s.must(err)
	ctx, over := context.WithCancel(context.Background())
	r.over = over
	r.all.Go(func() {
		for {
			select {
			case <-r.ask:
				r.positions(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	return r
}

func (r *recorder) event(e bus.Event) {
	if of, ok := recording.EventOf(e, time.Now()); ok {
		r.mu.Lock()
		r.must(r.to.AppendEvent(of))
		r.mu.Unlock()
	}
	if e.Kind == bus.Subscribed {
		select {
		case r.ask <- struct{}{}:
		default:
		}
	}
}

func (r *recorder) positions(ctx context.Context) {
	stats, err := r.sub.TagPositions(ctx)
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, st := range stats {
		if key := (durable.Key{Tag: st.Tag, Instance: st.Publisher.Instance}); !r.known[key] {
			r.known[key] = true
			r.must(r.to.AppendEvent(recording.Event{Kind: recording.Position, Time: time.Now(), Peer: st.Publisher, Tag: st.Tag, Count: st.Position - st.Published}))
		}
	}
}

// end ends the recording, and returns what is in it.
func (r *recorder) end() *content {
	r.t.Helper()
	r.over()
	r.all.Wait()
	r.must(r.sub.Close())
	r.must(r.to.Close())
	return read(r.t, r.file.Bytes())
}

// bridge starts a bridge to a log, and returns what ends it, or kills it.
func (s *site) bridge(log *memlog.Log, cfg out.Config) (p *process, end, kill func()) {
	s.t.Helper()
	p = s.process()
	cfg.Tags = tags.Everything()
	b, err := out.Start(s.t.Context(), p, log, cfg)
	s.must(err)
	return p, func() { s.must(b.Close(s.t.Context())) }, func() {
		_ = log.Close()
		s.network.Kill(p.host)
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = b.Close(ended)
	}
}

// content is what is in a recording.
type content struct {
	series map[string]*series // by name of publisher, and tag
	ends   map[string]string  // by name of publisher
	report *recording.Report
	times  []time.Time
}

// series is one publisher's tag.
type series struct {
	peers    map[string]bool // instances
	position uint64
	messages []string
	gaps     map[recording.Cause]uint64
}

// read reads a recording.
func read(t *testing.T, file []byte) *content {
	t.Helper()
	reader, err := recording.NewReader(bytes.NewReader(file), int64(len(file)), recording.ReaderConfig{})
	if err != nil {
		t.Fatal(err)
	}
	c := &content{series: make(map[string]*series), ends: make(map[string]string)}
	for rec, err := range reader.Records(recording.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e := rec.Event; e != nil {
			c.event(e)
			continue
		}
		s := c.of(rec.Publisher, rec.Tag)
		s.messages = append(s.messages, fmt.Sprintf("%d %d %x %q", rec.Counter, rec.Status, rec.RequestID().Bytes(), rec.Data))
		c.times = append(c.times, rec.Time)
	}
	if c.report, err = recording.Verify(reader); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *content) of(p *bus.Peer, tag tags.Tag) *series {
	key := fmt.Sprintf("%s %v", p.Name, tag)
	s := c.series[key]
	if s == nil {
		s = &series{gaps: make(map[recording.Cause]uint64), peers: make(map[string]bool)}
		c.series[key] = s
	}
	s.peers[p.Instance] = true
	return s
}

func (c *content) event(e *recording.Event) {
	switch e.Kind {
	case recording.Position:
		c.of(e.Peer, e.Tag).position = e.Count
	case recording.Gap:
		c.of(e.Peer, e.Tag).gaps[e.Cause] += e.Count
	case recording.Ended, recording.Vanished:
		c.ends[e.Peer.Name] = fmt.Sprintf("%v %t %s", e.Kind, e.Failed, e.Text)
	default:
	}
}

// equal compares two recordings message by message and gap by gap.
func equal(t *testing.T, got, want *content) {
	t.Helper()
	if g, w := slices.Sorted(maps.Keys(got.series)), slices.Sorted(maps.Keys(want.series)); !slices.Equal(g, w) {
		t.Errorf("got the series %q, want %q", g, w)
	}
	for key, w := range want.series {
		g := got.series[key]
		if g == nil {
			continue
		}
		if !slices.Equal(g.messages, w.messages) {
			t.Errorf("%s: got %d messages, want the same %d:\n%.300q\n%.300q", key, len(g.messages), len(w.messages), g.messages, w.messages)
		}
		if !maps.Equal(g.gaps, w.gaps) || !maps.Equal(g.peers, w.peers) || g.position != w.position {
			t.Errorf("%s: got the gaps %v, of %v behind %d, want %v, of %v behind %d", key, g.gaps, g.peers, g.position, w.gaps, w.peers, w.position)
		}
	}
	if !maps.Equal(got.ends, want.ends) {
		t.Errorf("got the ends %q, want %q", got.ends, want.ends)
	}
}

// make makes a recording of a log.
func (s *site) convert(log durable.Log, cfg convert.Config) (*content, convert.Report) {
	s.t.Helper()
	var file bytes.Buffer
	w, err := recording.NewWriter(&file, recording.Header{}, recording.Config{})
	s.must(err)
	report, err := convert.Run(s.t.Context(), log, w, cfg)
	s.must(err)
	s.must(w.Close())
	return read(s.t, file.Bytes()), report
}
