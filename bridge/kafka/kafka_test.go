// SPDX-License-Identifier: Apache-2.0

package kafka_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"tagbus/bridge/durable"
	"tagbus/bridge/durable/durabletest"
	"tagbus/bridge/kafka"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts brokers in memory, which the test ends, and returns where they are.
func start(t *testing.T, opts ...kfake.Opt) string {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return strings.Join(c.ListenAddrs(), ",")
}

// makeTopic makes a topic, as its owner does.
func makeTopic(t *testing.T, brokers, name string, partitions int32, settings ...string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(brokers, ",")...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	req := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, -1
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = key, &value
		topic.Configs = append(topic.Configs, c)
	}
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(t.Context(), client)
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		t.Fatalf("make topic %s: %v", name, err)
	}
}

// makeTopics makes a topic and its index.
func makeTopics(t *testing.T, brokers, name string, partitions int32) {
	t.Helper()
	makeTopic(t, brokers, name, partitions)
	makeTopic(t, brokers, name+".index", 1, "cleanup.policy=compact")
}

func open(t *testing.T, cfg kafka.Config) *kafka.Log {
	t.Helper()
	log, err := kafka.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// TestLog keeps the contract. Each test has a topic of its own.
func TestLog(t *testing.T) {
	brokers := start(t)
	n := 0
	durabletest.Run(t, func(t *testing.T) func() durable.Log {
		n++
		name := fmt.Sprintf("T%d", n)
		makeTopics(t, brokers, name, 1)
		return func() durable.Log { return open(t, kafka.Config{Brokers: brokers, Topic: name}) }
	})
}
