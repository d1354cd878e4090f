// SPDX-License-Identifier: Apache-2.0

package kafkaserver

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// recovered runs a broker with the data of one that was killed, as a real one begins again: a transaction that was open
// ends with a marker in the log. The broker of franz-go forgets it without one, and shows its records when a later
// transaction of the same producer is committed. The listener takes clients when that is done.
func recovered(address, dir string) error {
	if err := mend(dir); err != nil {
		return err
	}
	own := &gate{first: make(chan net.Conn), open: make(chan struct{})}
	_, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DataDir(dir), kfake.ListenFn(func(network, _ string) (net.Listener, error) {
		var err error
		own.Listener, err = net.Listen(network, address)
		return own, err
	}))
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DisableClientMetrics(), kgo.Dialer(func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		own.first <- there
		return here, nil
	}))
	if err != nil {
		return err
	}
	defer client.Close()
	if err := abortAll(context.Background(), client); err != nil {
		return err
	}
	close(own.open)
	return nil
}

// What mend knows of the files of the broker: a batch as it is on the wire in a file .dat, and for each in turn an entry in
// the file .idx beside it, with a mark for those of a transaction.
const (
	batchHead      = 61
	ofTransaction  = 0x10
	ofControl      = 0x20
	entryBytes     = 15
	entryVersion   = 1
	entryOfOpenTxn = 1
)

// mend writes the entries of all batches again. A kill between the two writes of a batch leaves one out, and those behind it
// would count for the batches before theirs.
func mend(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "partitions", "*", "*.dat"))
	if err != nil {
		return err
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var entries []byte
		for len(raw) >= batchHead {
			size := 12 + int(binary.BigEndian.Uint32(raw[8:]))
			if size < batchHead || size > len(raw) {
				break // cut off, as the broker sees itself
			}
			entry := make([]byte, entryBytes)
			entry[0] = entryVersion
			binary.LittleEndian.PutUint32(entry[2:], binary.BigEndian.Uint32(raw[12:])) // the epoch of the leader
			if attributes := raw[22]; attributes&ofTransaction != 0 && attributes&ofControl == 0 {
				entry[14] = entryOfOpenTxn
			}
			entry[1] = byte(crc32.Checksum(entry[2:], crc32.MakeTable(crc32.Castagnoli)))
			entries = append(entries, entry...)
			raw = raw[size:]
		}
		if err := os.WriteFile(strings.TrimSuffix(file, ".dat")+".idx", entries, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// gate is a listener that takes the connections of its own process first.
type gate struct {
	net.Listener
	first chan net.Conn
	open  chan struct{}
}

// Accept implements net.Listener.
func (g *gate) Accept() (net.Conn, error) {
	select {
	case c := <-g.first:
		return c, nil
	case <-g.open:
		return g.Listener.Accept()
	}
}

// abortAll ends what is open of each transactional id in each partition.
func abortAll(ctx context.Context, client *kgo.Client) error {
	listed, err := kmsg.NewPtrListTransactionsRequest().RequestWith(ctx, client)
	if err != nil {
		return err
	}
	all := kmsg.NewPtrMetadataRequest()
	all.Topics = nil
	meta, err := all.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	for _, t := range listed.TransactionStates {
		m := kmsg.NewWriteTxnMarkersRequestMarker()
		m.ProducerID, m.ProducerEpoch = t.ProducerID, epoch(ctx, client, t.TransactionalID)
		for i := range meta.Topics {
			topic := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
			topic.Topic = *meta.Topics[i].Topic
			for _, p := range meta.Topics[i].Partitions {
				topic.Partitions = append(topic.Partitions, p.Partition)
			}
			m.Topics = append(m.Topics, topic)
		}
		req.Markers = append(req.Markers, m)
	}
	if len(req.Markers) == 0 || len(meta.Topics) == 0 {
		return nil
	}
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		return err
	}
	for i := range resp.Markers {
		for _, t := range resp.Markers[i].Topics {
			for _, p := range t.Partitions {
				err = errors.Join(err, kerr.ErrorForCode(p.ErrorCode))
			}
		}
	}
	return err
}

// epoch returns that of a transactional id.
func epoch(ctx context.Context, client *kgo.Client, id string) int16 {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{id}
	resp, err := req.RequestWith(ctx, client)
	if err != nil || len(resp.TransactionStates) == 0 {
		return 0
	}
	return resp.TransactionStates[0].ProducerEpoch
}
