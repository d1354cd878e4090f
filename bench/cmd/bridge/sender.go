// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tagbus/bus"
	"tagbus/node"
	"tagbus/tags"
)

// Roles of processes that this program starts of itself.
const (
	roleBus  = "bus"
	roleNATS = "nats"
)

// sender publishes in the way that is measured.
type sender interface {
	open() error
	// send publishes data, of which nothing is kept, under the tag of a number.
	send(number int, data []byte) error
	// flush has sent what was published.
	flush()
	// finish waits until the other side has everything.
	finish() error
}

// busSender publishes on the bus, as it is by default.
type busSender struct {
	dir       string
	tags      int
	node      *node.Node
	publisher *bus.Publisher
}

func (b *busSender) open() (err error) {
	if b.node, err = node.Open(node.Config{Bus: b.dir}); err != nil {
		return err
	}
	set, err := tags.Range(1, tags.Tag(b.tags))
	if err != nil {
		return err
	}
	if b.publisher, err = b.node.NewPublisher(bus.PublisherConfig{Tags: set}); err != nil {
		return err
	}
	return b.publisher.WaitSubscribers(context.Background(), 1, set)
}

func (b *busSender) send(number int, data []byte) error {
	return b.publisher.PublishContext(context.Background(), tags.Tag(1+number%b.tags), data)
}

func (b *busSender) flush() { b.publisher.Flush() }

func (b *busSender) finish() error {
	return errors.Join(b.publisher.Drain(context.Background()), b.publisher.Close(), b.node.Close())
}

// natsSender publishes with nats.go, asynchronously.
type natsSender struct {
	url      string
	tags     int
	conn     *nats.Conn
	js       jetstream.JetStream
	subjects []string
	failed   atomic.Pointer[error]
}

func (n *natsSender) open() (err error) {
	if n.conn, err = nats.Connect(n.url); err != nil {
		return err
	}
	for i := range n.tags {
		n.subjects = append(n.subjects, fmt.Sprintf("%s%016x.ALICE", subject, i+1))
	}
	n.js, err = jetstream.New(n.conn, jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, _ *nats.Msg, err error) { n.failed.Store(&err) }))
	return err
}

func (n *natsSender) send(number int, data []byte) error {
	// It waits where more than 4,000 are on their way, as it does by default.
	_, err := n.js.PublishAsync(n.subjects[number%n.tags], data, jetstream.WithStallWait(time.Minute))
	return err
}

func (*natsSender) flush() {} // its connection does by itself

func (n *natsSender) finish() error {
	<-n.js.PublishAsyncComplete()
	n.conn.Close()
	if err := n.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// played is what a process prints that has published.
type played struct {
	Messages uint64    `json:"messages"`
	Began    time.Time `json:"began"`
	Ended    time.Time `json:"ended"`
}

// play publishes for a time after a line on standard input, and prints what that was.
func play(s sender, size int, length time.Duration) error {
	if err := s.open(); err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	data := make([]byte, size)
	did := played{Began: time.Now()}
	for end := did.Began.Add(length); did.Messages%64 != 0 || time.Now().Before(end); did.Messages++ {
		if err := s.send(int(did.Messages), data); err != nil {
			return err
		}
	}
	s.flush()
	if err := s.finish(); err != nil {
		return err
	}
	did.Ended = time.Now()
	return json.NewEncoder(os.Stdout).Encode(did)
}
