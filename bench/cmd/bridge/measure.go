// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// tagCount is how many tags and subjects messages have in turn.
const tagCount = 16

// work is what is published.
type work struct {
	name   string
	size   int
	flags  []string // of the bridge
	goal   float64  // of its rate, as a multiple of that of the client; 0: none
	client int      // the work whose rate of the client it is compared with
}

var works = []work{
	{name: "1 KiB", size: 1024, goal: 0.8, client: 0},
	{name: "40 B", size: 40, goal: 5, client: 1},
	{name: "1 KiB, a record each", size: 1024, flags: []string{"--record-messages", "1"}, client: 0},
}

// result is one measurement.
type result struct {
	rate      float64 // messages in a second
	records   float64 // in a second
	writer    float64 // processor time a message of what writes to the log, in µs
	publisher float64 // of the publisher on the bus
	server    float64
}

// bench is a run.
type bench struct {
	*flags
	engine engine
	bus    string
}

// measure measures all, and prints the tables.
func measure(f *flags, engines []engine) error {
	for _, e := range engines {
		if f.only != "" && f.only != e.name() {
			continue
		}
		dir, err := os.MkdirTemp("", "bench-bridge-")
		if err != nil {
			return err
		}
		err = measureEngine(f, e, dir)
		if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
			return err
		}
	}
	return nil
}

func measureEngine(f *flags, e engine, dir string) error {
	if err := e.start(filepath.Join(dir, "server")); err != nil {
		return err
	}
	defer e.stop()
	b := &bench{flags: f, engine: e, bus: filepath.Join(dir, "bus")}
	t := newTable(e.name())
	for round := range f.rounds {
		for i, w := range works {
			ours, err := b.throughBridge(w)
			if err != nil {
				return fmt.Errorf("%s by the bridge: %w", w.name, err)
			}
			t.bridge[i] = append(t.bridge[i], ours)
			if w.client != i {
				continue
			}
			theirs, err := b.byClient(w)
			if err != nil {
				return fmt.Errorf("%s by %s: %w", w.name, e.name(), err)
			}
			t.theirs[i] = append(t.theirs[i], theirs)
		}
		if err := b.latencies(t); err != nil {
			return err
		}
		t.loads = append(t.loads, load())
		fmt.Fprintf(os.Stderr, "round %d of %d, load %s\n", round+1, f.rounds, load())
	}
	t.print(os.Stdout)
	return nil
}

// throughBridge has a bridge write what is published on the bus.
func (b *bench) throughBridge(w work) (r result, err error) {
	bridge, err := b.startBridge(w.flags)
	if err != nil {
		return r, err
	}
	server := processorTime(b.engine.pid())
	p, did, err := b.play(w.size, roleBus, "-bus", b.bus)
	if err != nil {
		return r, errors.Join(err, bridge.kill())
	}
	publisher, err := p.end()
	if err != nil {
		return r, errors.Join(err, bridge.kill())
	}
	sum, used, err := endBridge(bridge)
	if err == nil && (sum.Messages != did.Messages || sum.Lost > 0) {
		err = fmt.Errorf("%d messages were published, and the bridge says %+v", did.Messages, sum)
	}
	if err != nil {
		return r, err
	}
	did.Ended = time.Now()
	r, err = b.result(did, sum.Records, used, processorTime(b.engine.pid())-server)
	r.publisher = publisher.Seconds() * 1e6 / float64(did.Messages)
	return r, err
}

// byClient has the engine's client publish.
func (b *bench) byClient(w work) (r result, err error) {
	if err := b.engine.fresh(context.Background()); err != nil {
		return r, err
	}
	server := processorTime(b.engine.pid())
	role, flags := b.engine.own()
	p, did, err := b.play(w.size, role, flags...)
	if err != nil {
		return r, err
	}
	used, err := p.end()
	if err != nil {
		return r, err
	}
	return b.result(did, did.Messages, used, processorTime(b.engine.pid())-server)
}

// result says how fast messages were stored, and what one took.
func (b *bench) result(did played, records uint64, writer, server time.Duration) (r result, err error) {
	at, err := b.engine.last(context.Background())
	if at.IsZero() {
		at = did.Ended
	}
	took, n := at.Sub(did.Began).Seconds(), float64(did.Messages)
	return result{rate: n / took, records: float64(records) / took, writer: writer.Seconds() * 1e6 / n, server: server.Seconds() * 1e6 / n}, err
}

// play has a process publish.
func (b *bench) play(size int, role string, flags ...string) (p *process, did played, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, did, err
	}
	p, err = begin(self, append(flags, "-role", role, "-size", fmt.Sprint(size), "-tags", fmt.Sprint(tagCount), "-seconds", fmt.Sprint(b.seconds)), "ready")
	if err != nil {
		return nil, did, err
	}
	line, err := p.ask("go")
	if err == nil {
		err = json.Unmarshal([]byte(line), &did)
	}
	if err != nil {
		err = errors.Join(err, p.kill())
	}
	return p, did, err
}

// bridgeSummary is what the bridge says at its end.
type bridgeSummary struct{ Messages, Records, Lost uint64 }

// startBridge starts a bridge with an empty log.
func (b *bench) startBridge(flags []string) (*process, error) {
	if err := b.engine.fresh(context.Background()); err != nil {
		return nil, err
	}
	args := append([]string{"out", "--bus", b.bus, "--tags", fmt.Sprintf("1-%d", tagCount), "--json"}, b.engine.flags()...)
	return begin(b.program, append(args, flags...), "writing ")
}

// endBridge ends a bridge in order.
//
//   - used: processor time since it was ready.
func endBridge(p *process) (sum bridgeSummary, used time.Duration, err error) {
	used, err = p.stop()
	if err != nil {
		return sum, 0, err
	}
	var said struct{ Summary bridgeSummary }
	err = json.Unmarshal([]byte(p.last), &said)
	return said.Summary, used, err
}
