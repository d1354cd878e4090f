// SPDX-License-Identifier: Apache-2.0

package kafka_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"tagbus/bridge/durable"
	"tagbus/bridge/durable/durabletest"
	"tagbus/bridge/internal/kafkaserver"
	"tagbus/bridge/kafka"
	"tagbus/tags"
)

// manyTopics makes a topic and its index for each of some digits, and returns the configuration of a log in all of them.
func manyTopics(t *testing.T, brokers string, partitions int32, digits ...string) (kafka.Config, *kgo.Client) {
	t.Helper()
	client := kafkaserver.Client(t, brokers)
	begin := fmt.Sprintf("tagbus-test-%016x-", rand.Uint64())
	for _, d := range digits {
		addTopic(t, client, begin+d, partitions)
	}
	return kafka.Config{Brokers: brokers, Topic: begin + "{tag>>60}", AckTimeout: 10 * time.Second}, client
}

// addTopic makes a topic and its index.
func addTopic(t *testing.T, client *kgo.Client, name string, partitions int32) {
	t.Helper()
	kafkaserver.Topic(t, client, name, partitions)
	kafkaserver.Topic(t, client, name+".index", 1, "cleanup.policy=compact")
}

// of returns the topic of a pattern that has some digits.
func of(cfg kafka.Config, digits string) string {
	begin, _, _ := strings.Cut(cfg.Topic, "{")
	return begin + digits
}

// tagOf returns a tag with a first digit.
func tagOf(digit uint64) tags.Tag { return tags.Tag(digit<<60 | 5) }

// appendTo appends a record of a tag that is the first one, and returns where it is.
func appendTo(log durable.Log, tag tags.Tag, after durable.Position, text string) (at durable.Position, err error) {
	done := make(chan struct{})
	log.Append(durable.Append{
		Key: durable.Key{Tag: tag, Instance: "ALICE"}, After: after, ID: text, Data: []byte(text),
		Done: func(p durable.Position, e error) { at, err = p, e; close(done) },
	})
	<-done
	return at, err
}

// TestSeveral keeps the contract, also with the brokers of earlier releases and several.
func TestSeveral(t *testing.T) {
	for name, opts := range map[string][]kfake.Opt{"": nil, "3 brokers": {kfake.NumBrokers(3)}, "2.5": {kfake.MaxVersions(kversion.V2_5_0())}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			brokers := kafkaserver.InMemory(t, opts...)
			durabletest.RunSplit(t, func(t *testing.T) func() durable.Log {
				cfg, _ := manyTopics(t, brokers, 2, "0", "7", "f")
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

// TestSeveral_routes each tag to its topic, which reads alike without the others.
func TestSeveral_routes(t *testing.T) {
	brokers := kafkaserver.Brokers(t)
	cfg, _ := manyTopics(t, brokers, 1, "0", "1", "e")
	log := open(t, cfg)
	for _, digit := range []uint64{0, 1, 0xe} {
		if _, err := appendTo(log, tagOf(digit), 0, fmt.Sprintf("%x", digit)); err != nil {
			t.Fatal(err)
		}
	}
	_ = log.Close()
	for _, digit := range []string{"0", "1", "e"} {
		single := cfg
		single.Topic = of(cfg, digit)
		if got := read(t, open(t, single), durable.Query{}); !slices.Equal(got, []string{digit}) {
			t.Errorf("got %q in the topic of %s, want its record alone", got, digit)
		}
	}
	single := cfg
	single.Topic = of(cfg, "1")
	_, err := appendTo(open(t, single), tagOf(1), 0, "again")
	if !errors.Is(err, durable.ErrConflict) {
		t.Errorf("got %v from a bridge of the topic alone, want ErrConflict", err)
	}
}

// TestSeveral_readsOnlyTopicsOfTheTags that are asked for: another one is not there any more.
func TestSeveral_readsOnlyTopicsOfTheTags(t *testing.T) {
	cfg, client := manyTopics(t, kafkaserver.InMemory(t), 1, "1", "2")
	log := open(t, cfg)
	for _, digit := range []uint64{1, 2} {
		if _, err := appendTo(log, tagOf(digit), 0, fmt.Sprint(digit)); err != nil {
			t.Fatal(err)
		}
	}
	kafkaserver.Delete(client, of(cfg, "2"))
	if got := read(t, log, durable.Query{Tags: tags.Of(tagOf(1), 1<<60)}); !slices.Equal(got, []string{"1"}) {
		t.Errorf("got %q, want the record of the topic that is there", got)
	}
	for e, err := range log.Tails(t.Context(), tags.Of(tagOf(1))) {
		if err != nil || string(e.Data) != "1" {
			t.Errorf("got %q, %v as the last record, want 1", e.Data, err)
		}
	}
	for _, err := range log.Read(t.Context(), durable.Query{Tags: tags.Of(tagOf(2))}) {
		if err == nil || !strings.Contains(err.Error(), "topic "+of(cfg, "2")) {
			t.Errorf("got %v, want an error with the topic", err)
		}
	}
}

// TestSeveral_beginsAgain behind what is in each topic, with positions of this Log.
func TestSeveral_beginsAgain(t *testing.T) {
	cfg, _ := manyTopics(t, kafkaserver.Brokers(t), 1, "1", "2", "3")
	cfg.CheckpointBytes = 1
	want := make(map[tags.Tag]int)
	for round := range 4 {
		log := open(t, cfg)
		last := make(map[tags.Tag]durable.Position)
		for e, err := range log.Tails(t.Context(), tags.Everything()) {
			if err != nil {
				t.Fatal(err)
			}
			last[e.Key.Tag] = e.Position
			if text := fmt.Sprint(want[e.Key.Tag]); string(e.Data) != text {
				t.Errorf("got %q as the last record of %v, want %s", e.Data, e.Key.Tag, text)
			}
		}
		if len(last) != len(want) {
			t.Errorf("got %d keys, want %d", len(last), len(want))
		}
		for digit := uint64(1); digit <= 3; digit++ {
			tag := tagOf(digit)
			if _, err := appendTo(log, tag, 0, "x"); round > 0 && !errors.Is(err, durable.ErrConflict) {
				t.Errorf("got %v for a first record, want ErrConflict", err)
			} else if round == 0 {
				last[tag] = 0
				e, err := log.Last(t.Context(), durable.Key{Tag: tag, Instance: "ALICE"})
				if err != nil || string(e.Data) != "x" {
					t.Fatalf("got %q, %v, want x", e.Data, err)
				}
				last[tag] = e.Position
			}
			want[tag]++
			at, err := appendTo(log, tag, last[tag], fmt.Sprint(want[tag]))
			if err != nil || at <= last[tag] {
				t.Errorf("got %d, %v behind %d", at, err, last[tag])
			}
		}
		_ = log.Close()
	}
}

// TestSeveral_inTheOrderOfTime merges topics, from one time to another.
func TestSeveral_inTheOrderOfTime(t *testing.T) {
	cfg, client := manyTopics(t, kafkaserver.Brokers(t), 1, "1", "2", "3")
	begin := time.UnixMilli(1_700_000_000_000)
	var want []string
	for i := range 30 {
		digit := 1 + i*7%3
		key := append([]byte{byte(digit) << 4, 0, 0, 0, 0, 0, 0, 5}, "ALICE"...)
		produce(t, client, &kgo.Record{Topic: of(cfg, fmt.Sprint(digit)), Key: key, Value: fmt.Append(nil, i), Timestamp: begin.Add(time.Duration(i) * time.Second)})
		want = append(want, fmt.Sprint(i))
	}
	log := open(t, cfg)
	if got := read(t, log, durable.Query{}); !slices.Equal(got, want) {
		t.Errorf("got %q, want the order of time", got)
	}
	q := durable.Query{Start: durable.Start{Time: begin.Add(10 * time.Second)}, End: durable.End{Time: begin.Add(20 * time.Second)}}
	if got := read(t, log, q); !slices.Equal(got, want[10:20]) {
		t.Errorf("got %q of a span, want %q", got, want[10:20])
	}
	q.Follow = true
	if got := read(t, log, q); !slices.Equal(got, want[10:20]) {
		t.Errorf("got %q of a span that is followed, want %q", got, want[10:20])
	}
}

// follow reads until the log is closed, each record once. Brokers that are late on a busy machine are read again, as programs do.
func follow(t *testing.T, log durable.Log, q durable.Query) <-chan string {
	t.Helper()
	got := make(chan string)
	go func() {
		defer close(got)
		seen := make(map[string]bool)
		for ended := false; !ended; {
			for e, err := range log.Read(t.Context(), q) {
				switch {
				case errors.Is(err, durable.ErrClosed):
					ended = true
				case errors.Is(err, durable.ErrRefused) || t.Context().Err() != nil:
					t.Error(err)
					ended = true
				case err == nil && !seen[string(e.Data)]:
					seen[string(e.Data)] = true
					got <- string(e.Data)
				}
			}
		}
	}()
	return got
}

// TestSeveral_followsTopicsThatComeLater from their first records, and those that nothing was in.
func TestSeveral_followsTopicsThatComeLater(t *testing.T) {
	cfg, client := manyTopics(t, kafkaserver.Brokers(t), 1, "1")
	writing, reading := open(t, cfg), cfg
	reading.AckTimeout = time.Second // it looks for topics each two of it; less is too short for an answer on a busy machine
	reader := open(t, reading)
	got := follow(t, reader, durable.Query{Follow: true})
	for _, digit := range []uint64{1, 2, 3} {
		if digit > 1 {
			addTopic(t, client, of(cfg, fmt.Sprint(digit)), 1)
		}
		if _, err := appendTo(writing, tagOf(digit), 0, fmt.Sprint(digit)); err != nil {
			t.Fatal(err)
		}
		if text := <-got; text != fmt.Sprint(digit) {
			t.Fatalf("got %q, want the record of the topic that was made last", text)
		}
	}
	_ = reader.Close()
	if text, ok := <-got; ok {
		t.Errorf("got %q, want the end", text)
	}
}

// TestSeveral_followsBeforeThereIsATopic of the tags that are asked for.
func TestSeveral_followsBeforeThereIsATopic(t *testing.T) {
	cfg, client := manyTopics(t, kafkaserver.Brokers(t), 1, "1")
	cfg.AckTimeout = time.Second
	log := open(t, cfg)
	some, _ := tags.Range(2<<60, 3<<60)
	got := follow(t, log, durable.Query{Tags: some, Follow: true})
	addTopic(t, client, of(cfg, "2"), 1)
	cfg.AckTimeout = 2 * time.Second
	if _, err := appendTo(open(t, cfg), tagOf(2), 0, "2"); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "2" {
		t.Errorf("got %q, want the record", text)
	}
	_ = log.Close()
	if text, ok := <-got; ok {
		t.Errorf("got %q, want the end", text)
	}
	<-got
}
