// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Room and limits of records.
const (
	overheadBytes = 1024     // of a batch with one record, and its key
	leastRecord   = 4 << 10  // the smallest limit of a topic that a bridge can use
	mostRecord    = 64 << 20 // brokers take no requests above 100 MiB
)

// topic is what is known of a topic.
type topic struct {
	name       string
	id         [16]byte // zero: the brokers have none
	partitions int      // 0: the topic does not exist
}

// limits are the settings of a topic that matter.
type limits struct {
	policy string // cleanup.policy
	bytes  int    // max.message.bytes
}

// metadata asks where the partitions of topics are.
func metadata(ctx context.Context, client *kgo.Client, names ...string) (*kmsg.MetadataResponse, error) {
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	return req.RequestWith(ctx, client)
}

// topics returns what is known of two topics. The second may be one that does not exist, or may not be read.
func (l *Log) topics(ctx context.Context) (data, index topic, err error) {
	resp, err := metadata(ctx, l.client, l.cfg.Topic, l.cfg.Index)
	if err != nil {
		return data, index, err
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if t.Topic == nil {
			continue
		}
		err := kerr.ErrorForCode(t.ErrorCode)
		if errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.TopicAuthorizationFailed) && *t.Topic == l.cfg.Index {
			continue
		}
		if err != nil {
			return data, index, err
		}
		found := topic{*t.Topic, t.TopicID, len(t.Partitions)}
		if found.name == l.cfg.Topic {
			data = found
		} else {
			index = found
		}
	}
	return data, index, nil
}

// settings returns those of a topic.
func (l *Log) settings(ctx context.Context, name string) (s limits, err error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, name
	r.ConfigNames = []string{"cleanup.policy", "max.message.bytes"}
	req.Resources = append(req.Resources, r)
	resp, err := req.RequestWith(ctx, l.client)
	if err != nil {
		return s, err
	}
	for i := range resp.Resources {
		if err := kerr.ErrorForCode(resp.Resources[i].ErrorCode); err != nil {
			return s, err
		}
		for _, c := range resp.Resources[i].Configs {
			switch {
			case c.Value == nil:
			case c.Name == "cleanup.policy":
				s.policy = *c.Value
			case c.Name == "max.message.bytes":
				s.bytes, err = strconv.Atoi(*c.Value)
				if err != nil {
					return s, err
				}
			}
		}
	}
	return s, nil
}

// compacts reports whether records of a topic go when their key has a later one.
func (s limits) compacts() bool { return slices.Contains(strings.Split(s.policy, ","), "compact") }

// look reports whether a bridge can use the topics.
//
// Errors: durable.ErrRefused, wrapped, and those of the brokers.
func (l *Log) look(ctx context.Context) (err error) {
	if l.topic, l.index, err = l.topics(ctx); err != nil {
		return err
	}
	name := l.cfg.Topic
	switch {
	case l.topic.partitions == 0:
		return refuse("topic %s does not exist: make it, as with %s", name, makeTopic(name))
	case l.topic.partitions > l.maxPartitions():
		return refuse("topic %s has %d partitions, want up to %d: name another one", name, l.topic.partitions, l.maxPartitions())
	}
	s, err := l.settings(ctx, name)
	if err != nil {
		return err
	}
	l.limit = min(s.bytes, mostRecord) - overheadBytes
	switch {
	case s.compacts():
		return refuse("topic %s has cleanup.policy=%s, where records go when their key has a later one: make one with cleanup.policy=delete", name, s.policy)
	case l.limit < leastRecord:
		return refuse("topic %s takes records of %d bytes at most, want %d or more: raise its max.message.bytes", name, s.bytes, leastRecord+overheadBytes)
	}
	return nil
}

// lookAtIndex reports whether a bridge can write the index, which may be there only since Open. With the turn of places.
//
// Errors: as look.
func (l *Log) lookAtIndex(ctx context.Context) error {
	_, index, err := l.topics(ctx)
	if err != nil {
		return err
	}
	name := l.cfg.Index
	if index.partitions == 0 {
		return refuse("topic %s, the index of topic %s, does not exist, or the user may not describe it: make it, as with %s", name, l.cfg.Topic, makeIndex(name))
	}
	s, err := l.settings(ctx, name)
	switch {
	case err != nil:
		return err
	case index.partitions != 1:
		return refuse("topic %s has %d partitions, and an index has one: make it again, as with %s", name, index.partitions, makeIndex(name))
	case l.index.partitions > 0 && l.index.id != index.id:
		return kerr.UnknownTopicID
	case s.policy != "compact":
		return refuse("topic %s has cleanup.policy=%s, and an index has compact: kafka-configs.sh --alter --entity-type topics --entity-name %[1]s --add-config cleanup.policy=compact", name, s.policy)
	}
	l.index = index
	return nil
}

// makeTopic returns the command that makes a topic for records.
func makeTopic(name string) string {
	return "kafka-topics.sh --bootstrap-server HOST:9092 --create --topic " + name +
		" --partitions 1 --replication-factor 3 --config cleanup.policy=delete --config min.insync.replicas=2 --config retention.ms=604800000"
}

// makeIndex returns the command that makes a topic for an index.
func makeIndex(name string) string {
	return "kafka-topics.sh --bootstrap-server HOST:9092 --create --topic " + name +
		" --partitions 1 --replication-factor 3 --config cleanup.policy=compact --config min.insync.replicas=2 --config segment.bytes=67108864"
}

// Times that stand for places in a partition.
const (
	atStart int64 = -2
	atEnd   int64 = -1 // behind what is committed
)

// offsets returns for each partition of a topic the first offset with a time, or one of the places; -1: there is none.
func (l *Log) offsets(ctx context.Context, t topic, at int64) ([]int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.IsolationLevel = 1 // what is committed
	asked := kmsg.NewListOffsetsRequestTopic()
	asked.Topic = t.name
	for p := range t.partitions {
		partition := kmsg.NewListOffsetsRequestTopicPartition()
		partition.Partition, partition.Timestamp = int32(p), at
		asked.Partitions = append(asked.Partitions, partition)
	}
	req.Topics = append(req.Topics, asked)
	resp, err := req.RequestWith(ctx, l.client)
	if err != nil {
		return nil, err
	}
	all := make([]int64, t.partitions)
	seen := 0
	for i := range resp.Topics {
		for _, p := range resp.Topics[i].Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, err
			}
			if p.Partition < 0 || int(p.Partition) >= len(all) {
				continue
			}
			all[p.Partition] = p.Offset
			seen++
		}
	}
	if seen < len(all) {
		return nil, errors.New("the brokers know the offsets of only some partitions")
	}
	return all, nil
}

// milliseconds returns a time as brokers count it: the first millisecond that is not before it.
func milliseconds(t time.Time) int64 {
	return max(t.Add(time.Millisecond-time.Nanosecond).UnixMilli(), 0)
}
