// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"

	"tagbus/bench/internal/load"
	"tagbus/bus"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
	"tagbus/node"
	"tagbus/tags"
)

// first is the tag 0 of the options; the others follow with a gap of one, so
// that a set of exact tags does not become a range.
const first tags.Tag = 0x1000_0000_0000_0000

func tag(i int) tags.Tag { return first + 2*tags.Tag(i) }

// served is the set of all tags of a run.
func served(n int) tags.Set {
	list := make([]tags.Tag, n)
	for i := range list {
		list[i] = tag(i)
	}
	return tags.Of(list...)
}

// wanted is the set that a subscriber asks for, in one of the ways of writing it.
// The ranges and the masks also cover tags without a publisher.
func wanted(o load.Options) tags.Set {
	const parts = 16
	switch o.Set {
	case "ranges":
		sets := make([]tags.Set, 0, parts)
		for i := range parts {
			from, to := tag(i*o.Wanted/parts), tag((i+1)*o.Wanted/parts)
			if from == to {
				continue
			}
			set, err := tags.Range(from, to-2)
			load.Must(err)
			sets = append(sets, set)
		}
		return tags.Union(sets...)
	case "masks":
		// Tag numbers are even, and each mask has one value of the four bits above
		// the lowest.
		open := tags.Tag(2)
		for open < tags.Tag(2*o.Wanted) {
			open *= 2
		}
		sets := make([]tags.Set, parts)
		for i := range sets {
			sets[i] = tags.Match(first+tags.Tag(2*i), ^(open-1)|(2*parts-1))
		}
		return tags.Union(sets...)
	default:
		return served(o.Wanted)
	}
}

// open opens a node with what the options ask for: without them as it comes.
func open(o load.Options, folder string) *node.Node {
	cfg := node.Config{
		Bus:   folder,
		Loop:  reactor.Config{BusyPoll: o.Spin},
		Loops: o.Loops, Backend: o.Backend,
		TCP: tcp.Config{
			CongestionControl: o.Congestion,
			SendBufferBytes:   o.SendBuffer, ReceiveBufferBytes: o.RecvBuffer,
		},
	}
	if o.Secure {
		cfg.Backend, cfg.Access = "tls", secured(o)
	}
	if o.Thread {
		// The loop holds a processor of the runtime; the others share the rest.
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
		cfg.Loop.Wait = reactor.WaitThread
	}
	n, err := node.Open(cfg)
	load.Must(err)
	return n
}

func publisherConfig(o load.Options) bus.PublisherConfig {
	cfg := bus.PublisherConfig{Tags: served(o.Wanted), Sending: bus.Sending{FlushInterval: o.Flush}}
	if o.Subscribers > bus.DefaultMaxSubscribers {
		cfg.MaxSubscribers, cfg.MaxSubscribersPerHost = o.Subscribers, o.Subscribers
	}
	return cfg
}
