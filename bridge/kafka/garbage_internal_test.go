// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
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

// TestLog_Read_ofManyRecords has some of them in memory at once, though each is of a few bytes, which others have put there.
func TestLog_Read_ofManyRecords(t *testing.T) {
	const batches, each = 40, 20_000
	_, client, log := odd(t, 1)
	for range batches {
		records := make([]*kgo.Record, each)
		for i := range records {
			records[i] = &kgo.Record{Topic: log.cfg.Topic}
		}
		if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	c := &cursor{log: log, topic: log.topic, end: batches * each}
	f := &fetcher{log: log, client: log.client, cursors: []*cursor{c}, committed: true, bytes: spanOf(1)}
	got, most := 0, 0
	for c.idle() {
		if err := f.fill(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		got, most = got+len(c.records), max(most, len(c.records))
		c.records = nil
	}
	if bound := unpacked*spanBytes/recordBytes + each; got != batches*each || most > bound {
		t.Errorf("got %d records, and %d of them at once, want %d, and %d at most", got, most, batches*each, bound)
	}
}

// TestSpare has the first batches, or one.
func TestSpare(t *testing.T) {
	batch := func(records uint32, more int) []byte {
		b := make([]byte, headBytes+more)
		binary.BigEndian.PutUint32(b[lengthAt:], uint32(len(b)-lengthAt-4))
		binary.BigEndian.PutUint32(b[countAt:], records)
		b[formatAt] = format
		return b
	}
	small, old := batch(10, 100), batch(1<<31-1, 100)
	old[formatAt] = 1
	for _, test := range []struct {
		name    string
		batches [][]byte
		whole   int // of these that are read
		first   int
	}{
		{"none", nil, 0, 0},
		{"what fits", [][]byte{small, small, small[:100]}, 3, 10},
		{"of what does not fit the first", [][]byte{batch(mostBatch, 0), small}, 1, mostBatch},
		{"of several those that fit", [][]byte{small, small, batch(100, 0), small}, 2, 10},
		{"one with more than it can have", [][]byte{batch(1<<32-1, 0), small}, 1, math.MaxInt32},
		{"one before such a one", [][]byte{small, batch(1<<31, 0)}, 1, 10},
		{"one of an older format", [][]byte{old, small}, 2, 0},
		{"garbage", [][]byte{make([]byte, 1000)}, 1, 0},
	} {
		some, first := spare(slices.Concat(test.batches...), 50*recordBytes)
		if want := slices.Concat(test.batches[:test.whole]...); !bytes.Equal(some, want) || first != test.first {
			t.Errorf("%s: got %d bytes and %d records, want %d and %d", test.name, len(some), first, len(want), test.first)
		}
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
