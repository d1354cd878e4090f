// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"sync/atomic"

	"tagbus/bench/internal/load"
	"tagbus/bus"
)

func publish(o load.Options) {
	folder, err := os.MkdirTemp("", "bus")
	load.Must(err)
	n := open(o, folder)
	var lost atomic.Int64
	cfg := publisherConfig(o)
	cfg.OnEvent = countLost(&lost)
	p, err := n.NewPublisher(cfg)
	load.Must(err)
	empty := load.ResidentBytes()
	load.Listening(folder)
	load.AwaitGo()
	load.Must(p.WaitSubscribers(context.Background(), o.Subscribers, served(o.Tags)))
	if o.Work == load.WorkIdle {
		idlePublisher(o, empty, &lost)
	} else {
		system := load.System{
			Sender: func(o load.Options) load.Sender { return newSender(o, p) },
			Flush:  p.Flush,
		}
		if o.Way == "flush" {
			system.Idle = p.Flush
		}
		if o.CPUProfile != "" {
			system.Figures = func() map[string]float64 { return sent(p) }
		}
		load.Publish(o, system)
	}
	load.Must(n.Close())
}

// compute keeps a processor busy.
func compute() {
	for x := uint64(1); x != 0; { // an odd number stays odd
		x *= 3
	}
}

// sent counts what all subscribers were sent, so that a profile can be put in
// proportion to it.
func sent(p *bus.Publisher) map[string]float64 {
	var pages, messages uint64
	for _, s := range p.Stats().Subscribers {
		pages += s.Pages
		messages += s.Messages
	}
	return map[string]float64{load.SentPages: float64(pages), load.SentMessages: float64(messages)}
}

// countLost returns what counts connections that are lost or refused.
func countLost(lost *atomic.Int64) func(bus.Event) {
	return func(e bus.Event) {
		if e.Kind == bus.Lost || e.Kind == bus.Refused {
			lost.Add(1)
		}
	}
}

// idlePublisher measures what subscribers cost that get nothing.
func idlePublisher(o load.Options, empty float64, lost *atomic.Int64) {
	result := load.PubResult{StartNS: load.Now(), Extra: map[string]float64{
		"publisher_bytes_per_subscriber": (load.ResidentBytes() - empty) / float64(o.Subscribers),
		"publisher_idle_cpu":             load.IdleCPU(o.Seconds),
	}}
	result.Extra[load.LostByPub] = float64(lost.Load())
	result.EndNS = load.Now()
	result.Report()
	load.AwaitQuit()
}

// subscribe has one subscriber or many in one node.
func subscribe(o load.Options) {
	if o.Record != "" {
		record(o)
		return
	}
	n := open(o, o.Addr)
	for range o.Busy {
		go compute()
	}
	empty, began := load.ResidentBytes(), load.Now()
	var lost atomic.Int64
	receivers := make([]*receiver, o.Connects)
	for i := range receivers {
		receivers[i] = newReceiver(o, n, bus.SubscriberConfig{Common: bus.Common{OnEvent: countLost(&lost)}})
	}
	for _, r := range receivers {
		load.Must(r.subscription.Wait(context.Background()))
	}
	result := load.SubResult{Role: load.RoleSub}
	if o.Work == load.WorkIdle || o.Connects > 1 {
		result.Extra = map[string]float64{
			load.ConnectSeconds:               float64(load.Now()-began) / 1e9,
			"subscriber_bytes_per_subscriber": (load.ResidentBytes() - empty) / float64(o.Connects),
		}
	}
	profiled := load.Profile(o)
	load.Ready()
	if o.Work == load.WorkIdle {
		result.Extra["subscribers_idle_cpu"] = load.IdleCPU(o.Seconds)
		result.Extra[load.LostBySub] = float64(lost.Load())
		result.Report()
		select {} // until the runner ends it
	}
	for _, r := range receivers {
		<-r.done
	}
	profiled()
	load.Must(n.Close())
	for _, r := range receivers {
		result.Add(r.checker.Result())
	}
	if o.Connects == 1 {
		result.Latency = receivers[0].checker.Result().Latency
	}
	result.Report()
}
