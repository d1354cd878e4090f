// SPDX-License-Identifier: Apache-2.0

package kafka_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/kafkaserver"
	"tagbus/bridge/kafka"
	"tagbus/tags"
)

// refusal appends until that is refused, as a bridge does, and returns the error.
func refusal(t *testing.T, log durable.Log, after durable.Position) (err error) {
	t.Helper()
	for {
		at, err := appendOne(log, "ALICE", after, "x")
		switch {
		case errors.Is(err, durable.ErrRefused):
			return err
		case errors.Is(err, durable.ErrConflict), t.Context().Err() != nil:
			t.Fatalf("got %v, want ErrRefused", err)
		case err == nil:
			after = at
		}
	}
}

// TestLog_anIndexOfMoreThanTheTopicHas is refused: its topic was made again by brokers that give topics no ids, or has lost records.
func TestLog_anIndexOfMoreThanTheTopicHas(t *testing.T) {
	cfg, client := topic(t, kafkaserver.InMemory(t, kfake.MaxVersions(kversion.V2_5_0())), 1)
	cfg.CheckpointBytes = 1
	log := open(t, cfg)
	at := durable.Position(0)
	for range 3 {
		at = must(t, log, "ALICE", at, strings.Repeat("x", 1000))
	}
	_ = log.Close()
	kafkaserver.Delete(client, cfg.Topic)
	kafkaserver.Topic(t, client, cfg.Topic, 1)
	const want = "the brokers have lost records"
	if _, err := appendOne(open(t, cfg), "BOB", 0, "1"); !errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v from Append, want ErrRefused with %q", err, want)
	}
	for e, err := range open(t, cfg).Tails(t.Context(), tags.Everything()) {
		if !errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("got record %d, %v from Tails, want ErrRefused with %q", e.Position, err, want)
		}
	}
}

// TestLog_anIndexThatIsMadeAgain under a bridge ends it, which would tell the next one that the index has all.
func TestLog_anIndexThatIsMadeAgain(t *testing.T) {
	cfg, client := topic(t, kafkaserver.InMemory(t), 1)
	at := durable.Position(0)
	for range 5 { // so that the first index is the longer one
		before := open(t, cfg)
		at = must(t, before, "ALICE", at, "1")
		_ = before.Close()
	}
	log := open(t, cfg)
	at = must(t, log, "ALICE", at, "1")
	index := cfg.Topic + ".index"
	kafkaserver.Delete(client, index)
	kafkaserver.Topic(t, client, index, 1, "cleanup.policy=compact")
	other := open(t, cfg) // the first one has to begin again, and would take the topic back
	theirs := must(t, other, "ALICE", at, "2")
	if err := refusal(t, log, at); !strings.Contains(err.Error(), "was deleted, or made again") {
		t.Errorf("got %v, want that the index was deleted", err)
	}
	must(t, other, "ALICE", theirs, "3")
}

// TestLog_anIndexThatIsMadeLater than a Log that has looked for it says who writes, all the same.
func TestLog_anIndexThatIsMadeLater(t *testing.T) {
	brokers := kafkaserver.InMemory(t)
	client := kafkaserver.Client(t, brokers)
	kafkaserver.Topic(t, client, "t", 1)
	cfg := kafka.Config{Brokers: brokers, Topic: "t", AckTimeout: 10 * time.Second}
	log := open(t, cfg)
	kafkaserver.Topic(t, client, "t.index", 1, "cleanup.policy=compact")
	at := must(t, log, "ALICE", 0, "1")
	must(t, open(t, cfg), "ALICE", at, "2")
	var taken *kafka.TakenError
	if err := refusal(t, log, at); !errors.As(err, &taken) {
		t.Errorf("got %v, want a *TakenError", err)
	}
}

// TestLog_keysThatNoBridgeWrites are refused: a bridge keeps all keys in memory. The error stays short.
func TestLog_keysThatNoBridgeWrites(t *testing.T) {
	brokers := kafkaserver.Brokers(t)
	for _, size := range []int{8, 8 + 513, 100_000} {
		cfg, client := topic(t, brokers, 1)
		produce(t, client, &kgo.Record{Topic: cfg.Topic, Key: make([]byte, size), Value: []byte("v")})
		_, err := appendOne(open(t, cfg), "BOB", 0, "x")
		if !errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), "which no bridge writes") || len(err.Error()) > 2000 {
			t.Errorf("got %.3000v for a key of %d bytes, want ErrRefused", err, size)
		}
	}
	cfg, _ := topic(t, brokers, 1)
	log := open(t, cfg)
	if _, err := appendOne(log, strings.Repeat("x", 513), 0, "x"); !errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), "want 1 to 512") {
		t.Errorf("got %v, want ErrRefused", err)
	}
	must(t, log, strings.Repeat("x", 512), 0, "x")
}
