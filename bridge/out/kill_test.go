// SPDX-License-Identifier: Apache-2.0

package out_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/kafkaserver"
	"tagbus/bridge/internal/natsserver"
	"tagbus/bridge/jetstream"
	"tagbus/bridge/kafka"
	"tagbus/bridge/out"
	"tagbus/bridge/record"
	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/tags"
)

// kills is how many times each party is killed: more with TAGBUS_TESTS=all.
func kills() int {
	if testkit.All() {
		return 50
	}
	return 3
}

// engine is a log of which the servers can be killed.
type engine struct {
	open    func(context.Context) (durable.Log, error)
	kill    func(*rand.Rand) // one of the servers
	restart func()           // that one
}

// real is a bus in memory in real time, with a bridge to real servers.
type real struct {
	*bed
	engine
	log    durable.Log
	bridge *out.Bridge
	opener *opener
	r      *rand.Rand
}

// stream returns a stream of NATS JetStream.
func stream(b *bed, members int) (e engine) {
	b.t.Helper()
	servers := natsserver.Cluster(b.t, members)
	var all []string
	for _, s := range servers {
		all = append(all, s.URL)
	}
	urls := strings.Join(all, ",")
	conn, err := nats.Connect(urls)
	b.must(err)
	defer conn.Close()
	js, err := natsjs.New(conn)
	b.must(err)
	for { // members elect a leader first
		_, err := js.CreateStream(b.t.Context(), natsjs.StreamConfig{Name: "TAGBUS", Subjects: []string{"tagbus.*.*"}, Replicas: members, Duplicates: 100 * time.Millisecond})
		if err == nil {
			break
		}
		b.must(b.t.Context().Err())
	}
	var killed *natsserver.Server
	e.kill = func(r *rand.Rand) {
		killed = servers[r.IntN(members)]
		killed.Kill()
	}
	e.restart = func() { killed.Restart() }
	e.open = func(ctx context.Context) (durable.Log, error) {
		log, err := jetstream.Open(ctx, jetstream.Config{URL: urls, Stream: "TAGBUS", AckTimeout: time.Second})
		if err != nil {
			return nil, err
		}
		return log, nil
	}
	return e
}

// topic returns a topic of Kafka.
func topic(b *bed, partitions int32) engine {
	b.t.Helper()
	s := kafkaserver.Start(b.t)
	return broker(s, kafkaserver.Topics(b.t, kafkaserver.Client(b.t, s.Brokers), partitions))
}

// topics returns one for each tag.
func topics(b *bed) engine {
	b.t.Helper()
	s := kafkaserver.Start(b.t)
	client := kafkaserver.Client(b.t, s.Brokers)
	for tag := range realTags.All() {
		name := fmt.Sprintf("tagbus-%016x", uint64(tag))
		kafkaserver.Topic(b.t, client, name, 1)
		kafkaserver.Topic(b.t, client, name+".index", 1, "cleanup.policy=compact")
	}
	return broker(s, "tagbus-{tag}")
}

// broker returns a topic of a broker that can be killed, or those of a pattern.
func broker(s *kafkaserver.Server, name string) (e engine) {
	e.kill = func(*rand.Rand) { s.Kill() }
	e.restart = s.Restart
	e.open = func(ctx context.Context) (durable.Log, error) {
		return kafka.Open(ctx, kafka.Config{Brokers: s.Brokers, Topic: name, AckTimeout: time.Second, CheckpointBytes: 4 << 10, Tags: realTags})
	}
	return e
}

var realTags = tags.Of(1, 2, 3, 4, 5)

// begin starts the bridge, as often as it takes while servers are away.
func (r *real) begin() {
	r.t.Helper()
	for r.log == nil {
		log, err := r.open(r.t.Context())
		if err == nil {
			r.log = log
		}
	}
	r.host = r.host.Next()
	r.opener = &opener{r.bed, newLoop(r.t), r.host}
	for {
		bridge, err := out.Start(r.t.Context(), r.opener, r.log, out.Config{
			Tags: realTags, Subscription: bus.SubscriptionConfig{Replay: 5}, Retry: 5 * time.Millisecond, RetryMax: 100 * time.Millisecond,
		})
		if err == nil {
			r.bridge = bridge
			return
		}
		if r.t.Context().Err() != nil {
			r.t.Fatal(err)
		}
	}
}

// kill ends the bridge as a kill of its process does.
func (r *real) kill() {
	_ = r.log.Close()
	r.network.Kill(r.opener.host)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = r.bridge.Close(ended)
	r.log = nil
}

// TestBridge_kills of the bridge, of a server and of a connection: each message is in the log once, or lost by name.
func TestBridge_kills(t *testing.T) {
	for _, test := range []struct {
		name string
		make func(*bed) engine
	}{
		{"a stream with 1 member", func(b *bed) engine { return stream(b, 1) }},
		{"a stream with 3 members", func(b *bed) engine { return stream(b, 3) }},
		{"a topic", func(b *bed) engine { return topic(b, 1) }},
		{"a topic with 3 partitions", func(b *bed) engine { return topic(b, 3) }},
		{"topics of a pattern", topics},
	} {
		if !testkit.All() && (strings.Contains(test.name, "partitions") || strings.Contains(test.name, "pattern")) {
			continue // they differ in what is committed together, which real brokers see to
		}
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // most of the time is waited
			r := &real{bed: newBed(t), r: rand.New(rand.NewPCG(34, uint64(len(test.name))))}
			r.engine = test.make(r.bed)
			p, host, end := r.publisher(realTags)
			r.begin()
			r.must(p.WaitSubscribers(t.Context(), 1, realTags))
			published := make(map[tags.Tag]uint64)
			pace := time.NewTicker(time.Millisecond) // so that the log has some of it before the next deed
			defer pace.Stop()
			publish := func(n int) {
				for i := range n {
					tag := tags.Tag(1 + r.r.IntN(5))
					r.publish(p, tag, 1)
					published[tag]++
					if i%20 == 0 {
						<-pace.C
					}
				}
			}
			publish(100)
			for r.bridge.Stats().Messages < 100 { // each chain has begun then
				<-pace.C
			}
			var deeds []int
			for range kills() {
				deeds = append(deeds, 0, 1, 2)
			}
			r.r.Shuffle(len(deeds), func(i, j int) { deeds[i], deeds[j] = deeds[j], deeds[i] })
			for _, deed := range deeds {
				r.must(p.WaitSubscribers(t.Context(), 1, realTags))
				publish(200 + r.r.IntN(200))
				switch deed {
				case 0:
					r.kill()
					publish(r.r.IntN(20))
					r.begin()
				case 1:
					r.engine.kill(r.r)
					publish(r.r.IntN(200))
					r.restart()
				case 2:
					r.network.Reset(netip.AddrPortFrom(host, 0), netip.AddrPortFrom(r.opener.host, 0))
				}
			}
			publish(100)
			if err := p.Drain(t.Context()); err != nil && !errors.Is(err, bus.ErrUndelivered) { // to those that were killed
				t.Error(err)
			}
			end()
			r.must(r.bridge.Close(t.Context()))
			r.check(p, published, len(deeds)/3)
			r.must(r.log.Close())
		})
	}
}

// check compares the log with what was published.
func (r *real) check(p *bus.Publisher, published map[tags.Tag]uint64, times int) {
	r.t.Helper()
	got, err := r.readChains(p)
	for err != nil && !errors.Is(err, durable.ErrRefused) { // members that were started again elect a leader first
		got, err = r.readChains(p)
	}
	r.must(err)
	var all, lost uint64
	for tag, n := range published {
		c := got[tag]
		if c == nil || c.begin != 1 || c.next != n+1 || c.messages+c.lost != n || !slices.Contains([]record.How{record.Goodbye, record.Vanished}, c.end) {
			r.t.Errorf("tag %v: got %+v of %d messages", tag, c, n)
			continue
		}
		all, lost = all+n, lost+c.lost
	}
	r.t.Logf("%d kills each of bridge, server and connection: %d messages published, %d in the log once, %d lost by name", times, all, all-lost, lost)
}

// readChains reads the whole log.
func (r *real) readChains(p *bus.Publisher) (map[tags.Tag]*chain, error) {
	r.t.Helper()
	got := make(map[tags.Tag]*chain)
	for e, err := range r.log.Read(r.t.Context(), durable.Query{}) {
		if err != nil {
			return nil, err
		}
		rec, err := record.Parse(e.Data)
		r.must(err)
		c := got[rec.Tag]
		if c == nil {
			c = &chain{begin: rec.First, next: rec.First}
			got[rec.Tag] = c
		}
		if rec.First != c.next || rec.Peer.Instance != p.Instance() {
			r.t.Errorf("entry %d: got %v, want it at %d", e.Position, rec, c.next)
		}
		c.next, c.end = rec.Next(), rec.How
		if rec.Kind == record.Messages {
			c.messages += rec.Count
		} else {
			c.lost += rec.Count
		}
	}
	return got, nil
}
