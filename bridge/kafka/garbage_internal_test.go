// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/kafkaserver"
)

// odd returns a log in a broker that can be made to answer something else.
func odd(t *testing.T, partitions int32) (*kfake.Cluster, *kgo.Client, *Log) {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	client := kafkaserver.Client(t, c.ListenAddrs()[0], kgo.ProducerBatchCompression(kgo.GzipCompression()), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	return c, client, openLog(t, Config{Brokers: c.ListenAddrs()[0], Topic: kafkaserver.Topics(t, client, partitions), AckTimeout: 10 * time.Second})
}

// TestLog_Read_fromABrokerThatNamesPartitionsThatAreNone ends with an error.
func TestLog_Read_fromABrokerThatNamesPartitionsThatAreNone(t *testing.T) {
	for _, numbers := range [][]int32{{0, 2}, {0, -1}, {1, 1}} {
		t.Run(fmt.Sprint(numbers), func(t *testing.T) {
			c, _, log := odd(t, 2)
			append1(t, log, 1, 0, "1")
			f := &fetcher{log: log, client: log.client, cursors: []*cursor{{log: log, topic: log.topic}}, committed: true, bytes: spanBytes}
			c.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				resp := req.ResponseKind().(*kmsg.MetadataResponse)
				topic := kmsg.NewMetadataResponseTopic()
				topic.Topic, topic.TopicID = &log.cfg.Topic, log.topic.id
				for _, n := range numbers {
					p := kmsg.NewMetadataResponseTopicPartition()
					p.Partition = n
					topic.Partitions = append(topic.Partitions, p)
				}
				resp.Topics = append(resp.Topics, topic)
				return resp, nil, true
			})
			if err := f.findLeaders(t.Context()); err == nil || f.leaders != nil {
				t.Errorf("got the leaders %v, %v, want an error", f.leaders, err)
			}
		})
	}
}

// TestLog_Read_ofWhatIsSmallOnlyInTheTopic has some of it in memory at once.
func TestLog_Read_ofWhatIsSmallOnlyInTheTopic(t *testing.T) {
	_, client, log := odd(t, 1)
	const batches, size = 80, 900 << 10
	value := make([]byte, size)
	key := appendKey(nil, durable.Key{Tag: 1, Instance: "ALICE"})
	for range batches {
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: log.cfg.Topic, Key: key, Value: value}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	c := &cursor{log: log, topic: log.topic, end: batches}
	f := &fetcher{log: log, client: log.client, cursors: []*cursor{c}, committed: true, bytes: spanOf(1)}
	got, most := 0, 0
	for c.idle() {
		if err := f.fill(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		got, most = got+len(c.records), max(most, len(c.records)*size)
		for len(c.records) > 0 {
			if r := c.take(); !bytes.Equal(r.Value, value) {
				t.Fatalf("got another record at %d", r.Offset)
			}
		}
	}
	if bound := unpacked*spanBytes + size; got != batches || most > bound {
		t.Errorf("got %d records, and %d bytes of them at once, want %d, and %d bytes at most", got, most, batches, bound)
	}
}

// TestSpanOf bounds what is in memory of all partitions.
func TestSpanOf(t *testing.T) {
	for partitions, want := range map[int]int32{1: spanBytes, 8: spanBytes, 64: fetchBytes / 64, 10_000: leastSpan} {
		if got := spanOf(partitions); got != want {
			t.Errorf("got %d of %d partitions, want %d", got, partitions, want)
		}
	}
}
