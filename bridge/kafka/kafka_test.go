// SPDX-License-Identifier: Apache-2.0

package kafka_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
	"go.uber.org/goleak"

	"tagbus/bridge/durable"
	"tagbus/bridge/durable/durabletest"
	"tagbus/bridge/internal/kafkaserver"
	"tagbus/bridge/kafka"
	"tagbus/tags"
)

func TestMain(m *testing.M) {
	kafkaserver.Main()
	goleak.VerifyTestMain(m, // the broker in memory ends its connections a little later
		goleak.IgnoreAnyFunction("github.com/twmb/franz-go/pkg/kfake.(*clientConn).read"),
		goleak.IgnoreAnyFunction("github.com/twmb/franz-go/pkg/kfake.(*clientConn).read.func1"),
		goleak.IgnoreAnyFunction("github.com/twmb/franz-go/pkg/kfake.(*clientConn).write"))
}

func open(t *testing.T, cfg kafka.Config) durable.Log {
	t.Helper()
	log, err := kafka.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log
}

// topic makes a topic with its index, and returns the configuration of a log in it.
func topic(t *testing.T, brokers string, partitions int32) (kafka.Config, *kgo.Client) {
	t.Helper()
	client := kafkaserver.Client(t, brokers)
	return kafka.Config{Brokers: brokers, Topic: kafkaserver.Topics(t, client, partitions), AckTimeout: 10 * time.Second}, client
}

// appendOne appends a record with the instance as its key, and waits for the outcome.
func appendOne(log durable.Log, instance string, after durable.Position, text string) (at durable.Position, err error) {
	done := make(chan struct{})
	log.Append(durable.Append{
		Key: durable.Key{Tag: 1, Instance: instance}, After: after, ID: instance + text, Data: []byte(text),
		Done: func(p durable.Position, e error) { at, err = p, e; close(done) },
	})
	<-done
	return at, err
}

// must appends a record that is to be stored.
func must(t *testing.T, log durable.Log, instance string, after durable.Position, text string) durable.Position {
	t.Helper()
	at, err := appendOne(log, instance, after, text)
	if err != nil || at <= after {
		t.Fatalf("append %q behind %d: got %d, %v, want a later position", text, after, at, err)
	}
	return at
}

// read returns the texts of a query.
func read(t *testing.T, log durable.Log, q durable.Query) (all []string) {
	t.Helper()
	for e, err := range log.Read(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(e.Data))
	}
	return all
}

// TestLog keeps the contract. Each test has a topic of its own.
func TestLog(t *testing.T) {
	brokers := kafkaserver.Brokers(t)
	durabletest.Run(t, func(t *testing.T) func() durable.Log {
		cfg, _ := topic(t, brokers, 1)
		return func() durable.Log {
			log, err := kafka.Open(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			return log
		}
	})
}

// TestLog_withOtherBrokers keeps the contract: with several, and with earlier releases, of which topics have no ids (2.5), and add
// partitions to transactions by a request of its own (both).
func TestLog_withOtherBrokers(t *testing.T) {
	for name, opt := range map[string]kfake.Opt{
		"3 brokers": kfake.NumBrokers(3), "2.5": kfake.MaxVersions(kversion.V2_5_0()), "3.6": kfake.MaxVersions(kversion.V3_6_0()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			brokers := kafkaserver.InMemory(t, opt)
			durabletest.Run(t, func(t *testing.T) func() durable.Log {
				cfg, _ := topic(t, brokers, 1)
				return func() durable.Log {
					log, err := kafka.Open(t.Context(), cfg)
					if err != nil {
						t.Fatal(err)
					}
					return log
				}
			})
		})
	}
}

// TestTwoBridges on one topic: the one that begins later goes on, and the other one says which it is.
func TestTwoBridges(t *testing.T) {
	cfg, _ := topic(t, kafkaserver.Brokers(t), 1)
	cfg.Name = "first"
	first := open(t, cfg)
	at := must(t, first, "ALICE", 0, "1")
	cfg.Name = "second"
	second := open(t, cfg)
	if e, err := second.Last(t.Context(), durable.Key{Tag: 1, Instance: "ALICE"}); err != nil || e.Position != at {
		t.Errorf("got %d, %v, want what the first one has appended at %d", e.Position, err, at)
	}
	at = must(t, first, "ALICE", at, "2") // one that only reads ends nothing
	if _, err := appendOne(second, "ALICE", 1, "x"); !errors.Is(err, durable.ErrConflict) {
		t.Errorf("got %v behind the first record, want ErrConflict", err)
	}
	theirs := at
	at = must(t, second, "ALICE", at, "3")
	if e, err := first.Last(t.Context(), durable.Key{Tag: 1, Instance: "ALICE"}); err != nil || e.Position != at {
		t.Errorf("got %d, %v from the first bridge, want what the second has appended at %d", e.Position, err, at)
	}
	if _, err := appendOne(first, "ALICE", theirs, "4"); !errors.Is(err, durable.ErrConflict) {
		t.Errorf("got %v, want ErrConflict", err)
	}
	_, err := appendOne(first, "ALICE", at, "4")
	for err != nil && !errors.Is(err, durable.ErrRefused) { // what the brokers say of the transaction
		_, err = appendOne(first, "ALICE", at, "4")
	}
	for range 2 {
		_, err := appendOne(first, "ALICE", at, "4")
		var taken *kafka.TakenError
		if !errors.Is(err, durable.ErrRefused) || !errors.As(err, &taken) || !strings.HasPrefix(taken.Writer, "second on ") || !strings.Contains(err.Error(), "let one bridge run for each topic") {
			t.Errorf("got %v from the first bridge, want a *TakenError that names the second", err)
		}
	}
	must(t, second, "ALICE", at, "5")
	if got := fmt.Sprint(read(t, second, durable.Query{})); got != "[1 2 3 5]" {
		t.Errorf("got %v", got)
	}
}

// TestLog_Append_refusesWhatDoesNotFit and says what to do.
func TestLog_Append_refusesWhatDoesNotFit(t *testing.T) {
	brokers := kafkaserver.Brokers(t)
	for _, test := range []struct {
		name   string
		change func(*testing.T, *kafka.Config, *kgo.Client)
		text   string
	}{
		{"no index", func(_ *testing.T, c *kafka.Config, _ *kgo.Client) { c.Index = "nothing" }, "topic nothing, the index of topic"},
		{"an index with partitions", func(t *testing.T, c *kafka.Config, client *kgo.Client) {
			c.Index = c.Topic + ".3"
			kafkaserver.Topic(t, client, c.Index, 3, "cleanup.policy=compact")
		}, "has 3 partitions, and an index has one"},
		{"an index that forgets", func(t *testing.T, c *kafka.Config, client *kgo.Client) {
			c.Index = c.Topic + ".d"
			kafkaserver.Topic(t, client, c.Index, 1)
		}, "has cleanup.policy=delete, and an index has compact"},
		{"another transactional id", func(t *testing.T, c *kafka.Config, _ *kgo.Client) {
			must(t, open(t, *c), "ALICE", 0, "1")
			c.TransactionalID = "another"
		}, "and not another, which would not keep two bridges apart"},
		{"an index with something else", func(t *testing.T, c *kafka.Config, client *kgo.Client) {
			produce(t, client, &kgo.Record{Topic: c.Topic + ".index", Key: []byte("k"), Value: []byte("v")})
		}, "its key is none of an index"},
		{"a topic with something else", func(t *testing.T, c *kafka.Config, client *kgo.Client) {
			produce(t, client, &kgo.Record{Topic: c.Topic, Key: []byte("k"), Value: []byte("v")})
		}, `entry 1 of topic`},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg, client := topic(t, brokers, 1)
			test.change(t, &cfg, client)
			log := open(t, cfg)
			if _, err := appendOne(log, "BOB", 0, "x"); !errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, want ErrRefused with %q", err, test.text)
			}
		})
	}
}

// produce appends a record as another program does.
func produce(t *testing.T, client *kgo.Client, r *kgo.Record) {
	t.Helper()
	if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// TestLog_Append_toATopicThatIsDeleted is refused, and never goes to the one that is made in its place.
func TestLog_Append_toATopicThatIsDeleted(t *testing.T) {
	brokers := kafkaserver.InMemory(t)
	for _, again := range []bool{true, false} {
		t.Run(fmt.Sprint("made again ", again), func(t *testing.T) {
			t.Parallel()
			cfg, client := topic(t, brokers, 1)
			cfg.AckTimeout = time.Second
			log := open(t, cfg)
			at := must(t, log, "ALICE", 0, "1")
			kafkaserver.Delete(client, cfg.Topic)
			if again {
				kafkaserver.Topic(t, client, cfg.Topic, 1)
			}
			_, err := appendOne(log, "ALICE", at, "2")
			for err != nil && !errors.Is(err, durable.ErrRefused) && t.Context().Err() == nil {
				_, err = appendOne(log, "ALICE", at, "2")
			}
			if !errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), "was deleted, or made again") {
				t.Errorf("got %v, want that the topic was deleted", err)
			}
			for _, err := range log.Read(t.Context(), durable.Query{}) {
				if err == nil || errors.Is(err, durable.ErrConflict) {
					t.Errorf("got %v from Read, want an error", err)
				}
			}
			_ = log.Close()
			cfg.AckTimeout = 0
			if again { // the index has what was in the topic before, which counts for nothing
				must(t, open(t, cfg), "ALICE", 0, "1")
				if got := read(t, open(t, cfg), durable.Query{}); len(got) != 1 {
					t.Errorf("got %q, want one record", got)
				}
			}
		})
	}
}

// TestLog_moreKeysThanMayBe are refused, by a bridge that writes and by one that begins.
func TestLog_moreKeysThanMayBe(t *testing.T) {
	cfg, _ := topic(t, kafkaserver.Brokers(t), 1)
	cfg.MaxKeys = 2
	log := open(t, cfg)
	at := must(t, log, "ALICE", 0, "1")
	must(t, log, "BOB", 0, "1")
	must(t, log, "ALICE", at, "2")
	if _, err := appendOne(log, "EVE", 0, "1"); !errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), "records of more than 2 publishers and tags") {
		t.Errorf("got %v for a third key, want ErrRefused", err)
	}
	_ = log.Close()
	cfg.MaxKeys = 1
	for _, err := range open(t, cfg).Tails(t.Context(), tags.Everything()) {
		if !errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), "records of more than 1 publishers and tags") {
			t.Errorf("got %v at a start, want ErrRefused", err)
		}
	}
}

// TestLog_whatIsDropped is named to readers, and is no last record any more.
func TestLog_whatIsDropped(t *testing.T) {
	cfg, client := topic(t, kafkaserver.Brokers(t), 1)
	cfg.CheckpointBytes = 1
	log := open(t, cfg)
	large := strings.Repeat("x", 1000) // not in the index itself
	old := must(t, log, "OLD", 0, large)
	at := durable.Position(0)
	for i := range 5 {
		at = must(t, log, "ALICE", at, fmt.Sprint(i, large))
	}
	kafkaserver.Drop(t, client, cfg.Topic, 0, int64(old)) // its offset and 1
	for _, err := range log.Read(t.Context(), durable.Query{Start: durable.Start{After: 0}}) {
		if err != nil {
			t.Errorf("got %v from the beginning, want no error", err)
		}
	}
	kafkaserver.Drop(t, client, cfg.Topic, 0, int64(at)-1)
	for _, err := range log.Read(t.Context(), durable.Query{Start: durable.Start{After: 1}}) {
		var gap *durable.GapError
		if !errors.As(err, &gap) || gap.Want != 2 || gap.First != at {
			t.Errorf("got %v, want a *durable.GapError of 2 and %d", err, at)
		}
	}
	if _, err := appendOne(log, "OLD", 0, "new"); !errors.Is(err, durable.ErrConflict) {
		t.Errorf("got %v, want ErrConflict until it is known that nothing is left", err)
	}
	if e, err := log.Last(t.Context(), durable.Key{Tag: 1, Instance: "OLD"}); err != nil || e.Data != nil {
		t.Errorf("got %d, %v, want that nothing is left", e.Position, err)
	}
	must(t, log, "OLD", 0, "new")
	_ = log.Close()
	if got := read(t, open(t, cfg), durable.Query{}); len(got) != 2 {
		t.Errorf("got %d records, want 2", len(got))
	}
}
