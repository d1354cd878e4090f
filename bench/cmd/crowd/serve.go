// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"tagbus/bus"
	"tagbus/node"
	"tagbus/tags"
)

const (
	perSecond = 10 // messages of each publisher that does not flood
	payload   = 100
)

// serve is a bus, or a part of one: it opens all in folder, floods if s says so, and prints a
// sample a second until standard input ends.
func serve(folder string, s size, out io.Writer) (err error) {
	senders, err := node.Open(node.Config{Bus: folder})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, senders.Close()) }()
	receivers, err := node.Open(node.Config{Bus: folder})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, receivers.Close()) }()
	publishers := make([]*bus.Publisher, s.publishers)
	for i := range publishers {
		publishers[i], err = senders.NewPublisher(bus.PublisherConfig{
			Tags: tagsOf(s.first+i, s.tags), Common: bus.Common{Name: fmt.Sprintf("readout-%04d", s.first+i)}, Sending: bus.Sending{QueueBytes: 2 << 20, PoolBytes: 4 << 20},
		})
		if err != nil {
			return err
		}
	}
	if err := subscribe(receivers, s); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var count atomic.Uint64
	others := publishers
	if s.flood {
		others = publishers[1:]
		go flood(ctx, publishers[0], s, &count)
	}
	go drip(ctx, others, s)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	return report(ctx, &count, out)
}

// tagsOf returns the tags of a publisher.
func tagsOf(i, n int) tags.Set {
	set, err := tags.Range(first(i), first(i)+tags.Tag(n-1))
	must(err)
	return set
}

func first(publisher int) tags.Tag { return tags.Tag(publisher+1) << 16 }

// subscribe opens the subscribers, and waits until they have what they want.
func subscribe(n *node.Node, s size) error {
	for i := range s.subscribers {
		sub, err := n.NewSubscriber(bus.SubscriberConfig{Common: bus.Common{Name: fmt.Sprintf("monitor-%04d", i)}})
		if err != nil {
			return err
		}
		var sets []tags.Set
		for k := range s.each {
			sets = append(sets, tagsOf(s.first+(i+k*s.publishers/s.each)%s.publishers, s.tags))
		}
		in, err := sub.Subscribe(tags.Union(sets...), func(bus.Message) {})
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		err = in.Wait(ctx)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// flood publishes as fast as the subscribers of one publisher take it.
func flood(ctx context.Context, p *bus.Publisher, s size, count *atomic.Uint64) {
	data := make([]byte, payload)
	for i := 0; p.PublishContext(ctx, first(s.first)+tags.Tag(i%s.tags), data) == nil; i++ {
		count.Add(1)
	}
}

// drip publishes a few messages a second with each publisher.
func drip(ctx context.Context, publishers []*bus.Publisher, s size) {
	data := make([]byte, payload)
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()
	ahead := s.publishers - len(publishers) + s.first
	for i := 0; ; i++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for k, p := range publishers {
			_ = p.Publish(first(ahead+k)+tags.Tag(i%s.tags), data) // one that has no room is counted by its publisher
		}
	}
}

// report prints a sample a second.
func report(ctx context.Context, count *atomic.Uint64, out io.Writer) error {
	begun := time.Now()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for encoder := json.NewEncoder(out); ; {
		var use syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
			return err
		}
		cpu := time.Duration(use.Utime.Nano() + use.Stime.Nano())
		if err := encoder.Encode(sample{count.Load(), cpu.Seconds(), time.Since(begun).Seconds()}); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}
