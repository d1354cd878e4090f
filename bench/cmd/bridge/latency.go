// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"tagbus/bridge/record"
)

// What is published for latencies.
const (
	latencyRate = 1000 // messages in a second
	latencySize = 1024
)

// latency is the time from publishing until a reader of the log has a message, in µs.
type latency struct{ p50, p99 float64 }

// latencies measures both ways.
func (b *bench) latencies(t *table) error {
	if err := b.engine.fresh(context.Background()); err != nil {
		return err
	}
	direct, err := b.latency(b.engine.sender(tagCount), func(data []byte, take func([]byte)) error {
		take(data)
		return nil
	})
	if err != nil {
		return fmt.Errorf("latency of %s: %w", b.engine.name(), err)
	}
	bridge, err := b.startBridge(nil)
	if err != nil {
		return err
	}
	through, err := b.latency(&busSender{dir: b.bus, tags: tagCount}, func(data []byte, take func([]byte)) error {
		r, err := record.Parse(data)
		if err != nil || r.Kind != record.Messages {
			return err
		}
		for m := range r.Messages() {
			take(m.Data)
		}
		return nil
	})
	_, ended := bridge.stop()
	t.direct, t.through = append(t.direct, direct), append(t.through, through)
	return errors.Join(err, ended)
}

// latency publishes at a rate, and reads the log at the same time.
//
//   - each: calls take with the messages in a record.
func (b *bench) latency(s sender, each func(data []byte, take func([]byte)) error) (l latency, err error) {
	h := hdrhistogram.New(1, int64(time.Minute/time.Microsecond), 3)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	ready, want := make(chan struct{}), int64(b.seconds*latencyRate)
	all := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		err := b.engine.follow(ctx, func() { close(ready) }, func(data []byte) {
			err := each(data, func(m []byte) {
				sent := time.Unix(0, int64(binary.LittleEndian.Uint64(m)))
				_ = h.RecordValue(time.Since(sent).Microseconds()) // below a minute
				if h.TotalCount() == want {
					close(all)
				}
			})
			if err != nil {
				cancel(err)
			}
		})
		if err != nil {
			cancel(err)
		}
	})
	defer reading.Wait()
	defer cancel(nil)
	if err := s.open(); err != nil {
		return l, err
	}
	select {
	case <-ready:
	case <-ctx.Done():
		return l, errors.Join(context.Cause(ctx), s.finish())
	}
	data := make([]byte, latencySize)
	pace := time.NewTicker(time.Second / latencyRate)
	defer pace.Stop()
	for i := range int(want) {
		<-pace.C
		binary.LittleEndian.PutUint64(data, uint64(time.Now().UnixNano()))
		if err := s.send(i, data); err != nil {
			return l, err
		}
		s.flush()
	}
	select {
	case <-all:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-time.After(time.Minute):
		err = fmt.Errorf("%d of %d messages came within a minute", h.TotalCount(), want)
	}
	return latency{float64(h.ValueAtQuantile(50)), float64(h.ValueAtQuantile(99))}, errors.Join(err, s.finish())
}
