// SPDX-License-Identifier: Apache-2.0

package kafka_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/kafkaserver"
	"tagbus/bridge/kafka"
	"tagbus/tags"
)

// TestSeveral_namesWhatDoesNotFit and what to do.
func TestSeveral_namesWhatDoesNotFit(t *testing.T) {
	cfg, client := manyTopics(t, kafkaserver.InMemory(t), 1, "1", "2")
	none := cfg
	none.Topic = "none-{tag>>48}"
	missing := cfg
	missing.Tags = tags.Of(tagOf(1), tagOf(7))
	wide := cfg
	wide.Topic = "wide-{tag>>56}"
	for i := range 65 {
		kafkaserver.Topic(t, client, fmt.Sprintf("wide-%02x", i), 1)
	}
	kafkaserver.Topic(t, client, "parts-1", 1025)
	parts := cfg
	parts.Topic = "parts-{tag>>60}"
	for _, test := range []struct {
		cfg  kafka.Config
		text string
	}{
		{none, "no topic is there of none-{tag>>48}, such as none-0000: make those that are needed, as with kafka-topics.sh"},
		{missing, "topic " + of(cfg, "7") + " does not exist: make it, as with kafka-topics.sh"},
		{wide, "wide-{tag>>56} has 65 topics, and a log has 64 at most: name the tags of fewer"},
		{parts, "topic parts-1 has 1025 partitions, want up to 1024"},
	} {
		_, err := kafka.Open(t.Context(), test.cfg)
		if !errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: got %v, want ErrRefused with %q", test.cfg.Topic, err, test.text)
		}
	}
	some, _ := tags.Range(0, 63<<56)
	wide.Tags = some
	log := open(t, wide)
	if _, err := appendTo(log, 64<<56, 0, "x"); !errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), "has its place in topic wide-40, and 64 other topics") {
		t.Errorf("got %v for the 65th topic, want ErrRefused", err)
	}
	log = open(t, cfg)
	if _, err := appendTo(log, tagOf(9), 0, "x"); !errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), "topic "+of(cfg, "9")+" does not exist: make it") {
		t.Errorf("got %v for a topic that does not exist, want ErrRefused", err)
	}
	if _, err := appendTo(log, tagOf(1), 0, "x"); err != nil {
		t.Errorf("got %v for another topic, want nil", err)
	}
	addTopic(t, client, of(cfg, "9"), 1)
	if _, err := appendTo(log, tagOf(9), 0, "x"); err != nil {
		t.Errorf("got %v for a topic that is there now, want nil", err)
	}
}

// TestSeveral_recordsOfAnotherPattern are refused: their chains would go on in another topic.
func TestSeveral_recordsOfAnotherPattern(t *testing.T) {
	cfg, _ := manyTopics(t, kafkaserver.Brokers(t), 1, "1")
	cfg.CheckpointBytes = 1
	single := cfg
	single.Topic = of(cfg, "1")
	before := open(t, single)
	at, err := appendTo(before, tagOf(2), 0, "x")
	if err == nil {
		_, err = appendTo(before, tagOf(2), at, strings.Repeat("y", 1000)) // and in the index
	}
	if err != nil {
		t.Fatal(err)
	}
	log := open(t, cfg)
	const want = "whose topic is "
	if _, err := appendTo(log, tagOf(1), 0, "x"); !errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v from Append, want ErrRefused with %q", err, want)
	}
	for _, err := range log.Read(t.Context(), durable.Query{}) {
		if !errors.Is(err, durable.ErrRefused) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v from Read, want ErrRefused with %q", err, want)
		}
	}
}

// TestSeveral_oneIsTaken by another bridge, which is an error with its name, and the others go on.
func TestSeveral_oneIsTaken(t *testing.T) {
	cfg, _ := manyTopics(t, kafkaserver.InMemory(t), 1, "1", "2")
	log := open(t, cfg)
	first, err := appendTo(log, tagOf(1), 0, "1")
	if err != nil {
		t.Fatal(err)
	}
	second, err := appendTo(log, tagOf(2), 0, "2")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Tags = tags.Of(tagOf(2))
	other := open(t, cfg)
	e, err := other.Last(t.Context(), durable.Key{Tag: tagOf(2), Instance: "ALICE"})
	if err == nil {
		_, err = appendTo(other, tagOf(2), e.Position, "other")
	}
	if err != nil {
		t.Fatal(err)
	}
	var taken *kafka.TakenError
	for err = nil; !errors.As(err, &taken); {
		if _, err = appendTo(log, tagOf(2), second, "x"); err == nil || errors.Is(err, durable.ErrConflict) {
			t.Fatalf("got %v, want a *TakenError", err)
		}
	}
	if taken.Topic != of(cfg, "2") {
		t.Errorf("got topic %s as taken, want %s", taken.Topic, of(cfg, "2"))
	}
	if _, err := appendTo(log, tagOf(1), first, "1"); err != nil {
		t.Errorf("got %v for the other topic, want nil", err)
	}
}

// TestConfig_Validate_patterns names what is wrong with each.
func TestConfig_Validate_patterns(t *testing.T) {
	for _, test := range []struct{ topic, index, id, want string }{
		{topic: "a-{tag>>48}"},
		{topic: "a-{tag}"},
		{topic: "{tag>>32}.{tag>>48}", index: "i-{tag>>32}", id: "t-{tag>>32}"},
		{topic: "a-{tag>>3}", want: "a multiple of 4"},
		{topic: "a-{}", want: "want {tag}, {tag>>N}"},
		{topic: "a-{instance}-{tag>>48}", want: "a tag is in one topic"},
		{topic: "a/{tag>>48}", want: `Topic is "a/0000"`},
		{topic: strings.Repeat("a", 240) + "{tag}", want: "Topic is"},
		{topic: strings.Repeat("a", 228) + "{tag}", want: "Index is"},
		{topic: "a-{tag>>48}", index: "a-{tag>>48}", want: "Index is"},
		{topic: "a-{tag>>48}", index: "i", want: "a name for each topic"},
		{topic: "a-{tag>>48}", index: "i-{tag>>52}", want: "a name for each topic"},
		{topic: "a-{tag>>48}", id: "x", want: `TransactionalID is "x", want a pattern`},
		{topic: "a", index: "i-{tag>>48}", want: "Index is"},
	} {
		err := kafka.Config{Brokers: "host", Topic: test.topic, Index: test.index, TransactionalID: test.id}.Validate()
		if (err == nil) != (test.want == "") || err != nil && (!errors.Is(err, kafka.ErrInvalidConfig) || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%+v: got %v", test, err)
		}
	}
}

// TestSeveral_oneIsAway fails what is appended to that topic, by its name, and holds up no other one.
func TestSeveral_oneIsAway(t *testing.T) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	cfg, _ := manyTopics(t, c.ListenAddrs()[0], 1, "1", "2")
	cfg.AckTimeout = time.Second
	var away atomic.Bool
	away.Store(true)
	c.ControlKey(int16(kmsg.InitProducerID), func(req kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		begin := req.(*kmsg.InitProducerIDRequest)
		if !away.Load() || *begin.TransactionalID != "tagbus-bridge."+of(cfg, "2") {
			return nil, nil, false
		}
		resp := begin.ResponseKind().(*kmsg.InitProducerIDResponse)
		resp.ErrorCode = kerr.CoordinatorNotAvailable.Code
		return resp, nil, true
	})
	log := open(t, cfg)
	failed := make(chan error)
	go func() {
		_, err := appendTo(log, tagOf(2), 0, "x")
		failed <- err
	}()
	at := durable.Position(0)
	for range 5 {
		if at, err = appendTo(log, tagOf(1), at, "x"); err != nil {
			t.Errorf("got %v for the topic that is there, want nil", err)
		}
	}
	if err := <-failed; err == nil || errors.Is(err, durable.ErrRefused) || !strings.HasPrefix(err.Error(), "topic "+of(cfg, "2")+": ") {
		t.Errorf("got %v for the topic that is away, want an error with its name that may go", err)
	}
	away.Store(false)
	for err = errors.New("away"); err != nil; { // the client waits a little for its coordinator
		if _, err = appendTo(log, tagOf(2), 0, "x"); t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}
