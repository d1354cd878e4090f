// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Roles of processes for Kafka.
const (
	roleKafka  = "kafka"  // publishes
	roleBroker = "broker" // is the broker
)

// topic is that of the measurements, and its index has .index behind it.
const topic = "bench"

// kafkaEngine is Kafka, with the broker in memory of franz-go: a new one for each log.
type kafkaEngine struct {
	broker  *process
	address string
}

func (*kafkaEngine) name() string { return "franz-go" }

func (*kafkaEngine) start(string) error { return nil }

func (k *kafkaEngine) stop() {
	if k.broker != nil {
		_ = k.broker.kill()
	}
}

func (k *kafkaEngine) pid() int { return k.broker.cmd.Process.Pid }

// serve is the broker's process.
func serve() error {
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "ready", strings.Join(c.ListenAddrs(), ","))
	select {} // until it is killed
}

func (k *kafkaEngine) fresh(ctx context.Context) error {
	k.stop()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if k.broker, err = begin(self, []string{"-role", roleBroker}, "ready "); err != nil {
		return err
	}
	_, k.address, _ = strings.Cut(k.broker.last, " ")
	client, err := k.client()
	if err != nil {
		return err
	}
	defer client.Close()
	compact := "compact"
	return errors.Join(makeTopic(ctx, client, topic, nil), makeTopic(ctx, client, topic+".index", &compact))
}

// makeTopic makes a topic of one partition.
func makeTopic(ctx context.Context, client *kgo.Client, name string, policy *string) error {
	req := kmsg.NewPtrCreateTopicsRequest()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, 1, 1
	if policy != nil {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = "cleanup.policy", policy
		t.Configs = append(t.Configs, c)
	}
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.Topics[0].ErrorCode)
}

func (k *kafkaEngine) client(opts ...kgo.Opt) (*kgo.Client, error) {
	return newClient(k.address, opts...)
}

func newClient(brokers string, opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(strings.Split(brokers, ",")...)}, opts...)...)
}

func (k *kafkaEngine) flags() []string { return []string{"--kafka", k.address, "--topic", topic} }

func (k *kafkaEngine) own() (role string, flags []string) {
	return roleKafka, []string{"-url", k.address}
}

// last returns no time: records have that of their producer.
func (*kafkaEngine) last(context.Context) (at time.Time, err error) { return at, nil }

func (k *kafkaEngine) follow(ctx context.Context, ready func(), take func(data []byte)) error {
	client, err := k.client(kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		return err
	}
	defer client.Close()
	ready()
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) { take(r.Value) })
	}
}

func (k *kafkaEngine) sender(tags int) sender { return &kafkaSender{url: k.address, tags: tags} }

// kafkaSender publishes with franz-go, asynchronously. Nothing is compressed, as the bridge does not.
type kafkaSender struct {
	url    string
	tags   int
	client *kgo.Client
	keys   [][]byte
	failed atomic.Pointer[error]
}

func (k *kafkaSender) open() (err error) {
	for i := range k.tags {
		k.keys = append(k.keys, append(binary.BigEndian.AppendUint64(nil, uint64(i+1)), "ALICE"...))
	}
	k.client, err = newClient(k.url, kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(kgo.NoCompression()))
	return err
}

func (k *kafkaSender) send(number int, data []byte) error {
	// It keeps the bytes until they are acknowledged, and waits where there are more than 10,000 records, as it does by default.
	k.client.Produce(context.Background(), &kgo.Record{Key: k.keys[number%k.tags], Value: append([]byte(nil), data...)}, func(_ *kgo.Record, err error) {
		if err != nil {
			k.failed.Store(&err)
		}
	})
	return nil
}

func (*kafkaSender) flush() {} // it sends by itself

func (k *kafkaSender) finish() error {
	err := k.client.Flush(context.Background())
	k.client.Close()
	if failed := k.failed.Load(); failed != nil {
		err = errors.Join(err, *failed)
	}
	return err
}
