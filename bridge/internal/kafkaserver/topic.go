// SPDX-License-Identifier: Apache-2.0

package kafkaserver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Client returns a client of brokers, which the test ends.
func Client(tb testing.TB, brokers string, opts ...kgo.Opt) *kgo.Client {
	tb.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(strings.Split(brokers, ",")...), kgo.DisableClientMetrics()}, opts...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	return client
}

// Topics makes a topic with a name of its own and its index, as their owner does, and returns the name.
func Topics(tb testing.TB, client *kgo.Client, partitions int32) string {
	tb.Helper()
	name := fmt.Sprintf("tagbus-test-%016x", rand.Uint64())
	Topic(tb, client, name, partitions)
	Topic(tb, client, name+".index", 1, "cleanup.policy=compact")
	return name
}

// Topic makes a topic, which the test deletes.
//
//   - settings: NAME=VALUE.
func Topic(tb testing.TB, client *kgo.Client, name string, partitions int32, settings ...string) {
	tb.Helper()
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
	resp, err := req.RequestWith(tb.Context(), client)
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	if err != nil {
		tb.Fatalf("make topic %s: %v", name, err)
	}
	tb.Cleanup(func() { Delete(client, name) })
}

// Delete deletes a topic, if it is there and the brokers are.
func Delete(client *kgo.Client, name string) {
	req := kmsg.NewPtrDeleteTopicsRequest()
	topic := kmsg.NewDeleteTopicsRequestTopic()
	topic.Topic = &name
	req.TopicNames, req.Topics = []string{name}, append(req.Topics, topic)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_, _ = req.RequestWith(ctx, client)
}

// Drop drops the records of a partition before an offset, as a retention does.
func Drop(tb testing.TB, client *kgo.Client, name string, partition int32, before int64) {
	tb.Helper()
	req := kmsg.NewPtrDeleteRecordsRequest()
	topic := kmsg.NewDeleteRecordsRequestTopic()
	topic.Topic = name
	p := kmsg.NewDeleteRecordsRequestTopicPartition()
	p.Partition, p.Offset = partition, before
	topic.Partitions = append(topic.Partitions, p)
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(tb.Context(), client)
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
	}
	if err != nil {
		tb.Fatalf("drop records: %v", err)
	}
}
