// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"slices"
)

// throughput has messages that are published one at a time, and, as information,
// what a program gets that does otherwise.
func throughput() []Scenario {
	small := func(size int, wants ...Goal) Scenario {
		return Scenario{
			Group: "Throughput", Name: "throughput/" + label(size), Size: size, Metric: Messages, Wants: wants,
			Rows: []string{
				"tagbus", "tagbus-handle", "tagbus-batch", "tagbus-tcp", "tagbus-tcp-batch",
				"libzmq", "libzmq-ipc", "iceoryx", "nats", "zmq4", "nng", "gonet", "c-record", "c-record+cc",
			},
		}
	}
	large := func(size int, wants ...Goal) Scenario {
		s := Scenario{
			Group: "Throughput", Name: "throughput/" + label(size), Size: size, Metric: Bytes, Wants: wants,
			Rows: []string{
				"tagbus", "tagbus-zerocopy", "tagbus-loan", "tagbus-tcp", "tagbus-tcp-zerocopy",
				"libzmq", "libzmq-ipc", "libzmq-zerocopy", "iceoryx", "nats", "zmq4", "nng", "c-block", "c-block+cc", "c-block-zerocopy",
			},
		}
		if size > 128*kib { // a loan is at most a page
			s.Rows = slices.DeleteFunc(s.Rows, func(row string) bool { return row == "tagbus-loan" })
		}
		return s
	}
	return []Scenario{
		small(40,
			Goal{Of: "tagbus-tcp", AtLeast: 1.3}, Goal{System: "tagbus-batch", Of: "c-record+cc", AtLeast: 1.7}, Goal{Metric: CPU, Of: "tagbus-tcp", AtMost: 0.65},
			tcp("", "libzmq", 9), tcp("-batch", "c-record+cc", 0.7)),
		small(256, tcp("", "libzmq", 8)),
		small(kib, tcp("", "libzmq", 8)),
		small(4*kib, tcp("", "c-record+cc", 0.9)),
		large(64*kib,
			Goal{Of: "c-block+cc", AtLeast: 3},
			tcp("", "c-block+cc", 1), tcp("-zerocopy", "c-block+cc", 1.2)),
		{
			Group: "Throughput", Name: "throughput/64KiB/all-read", Size: 64 * kib, ReadsAll: true, Metric: Bytes,
			Rows:  []string{"tagbus", "tagbus-loan", "tagbus-tcp", "libzmq-ipc", "iceoryx", "c-block", "c-block+cc"},
			Wants: []Goal{{System: "tagbus-loan", Of: "c-block+cc", AtLeast: 2.5}},
		},
		large(mib, tcp("", "c-block+cc", 0.95)),
	}
}

// tcp is a goal of the bus over TCP.
func tcp(variant, of string, atLeast float64) Goal {
	return Goal{System: "tagbus-tcp" + variant, Of: of, AtLeast: atLeast}
}

// receives compares the ways to receive.
func receives() []Scenario {
	than := func(system string, least float64) Goal { return Goal{System: system, Of: "tagbus", AtLeast: least} }
	return []Scenario{{
		Group: "Ways to receive", Name: "receive/40B", Size: 40, Metric: Messages,
		Rows:  []string{"tagbus", "tagbus-messages", "tagbus-channel", "tagbus-subscribebatch"},
		Wants: []Goal{than("tagbus-messages", 0.4), than("tagbus-channel", 0.4), than("tagbus-subscribebatch", 1.15)},
	}}
}

// producers compares many goroutines that publish with one.
func producers() []Scenario {
	return []Scenario{{
		Group: "Many publishing goroutines", Name: "producers/40B", Size: 40, Metric: Messages,
		Rows: []string{"tagbus", "tagbus-8", "tagbus-64"},
		Wants: []Goal{
			{System: "tagbus-8", Of: "tagbus", AtLeast: 0.9},
			{System: "tagbus-64", Of: "tagbus", AtLeast: 0.9},
		},
	}}
}

func fanOut() []Scenario {
	var all []Scenario
	for _, subscribers := range []int{4, 16} {
		for _, size := range []int{40, kib, 64 * kib} {
			s := Scenario{
				Group: "Fan-out", Name: fmt.Sprintf("fanout/%d/%s", subscribers, label(size)),
				Size: size, Subscribers: subscribers, Metric: Messages,
				Rows: []string{"tagbus", "tagbus-batch", "tagbus-tcp", "libzmq", "libzmq-ipc", "nats", "c-record", "c-record+cc"},
			}
			switch {
			case size == 40 && subscribers == 16:
				s.Wants = []Goal{{Of: "c-record+cc", AtLeast: 2.5}, {Metric: CPU, Of: "tagbus-tcp", AtMost: 0.5}, tcp("", "libzmq", 15)}
			case size == 40:
				s.Wants = []Goal{tcp("", "libzmq", 10)}
			case size >= 64*kib:
				s.Metric = Bytes
			}
			all = append(all, s)
		}
	}
	return append(all, Scenario{
		Group: "Fan-out", Name: "fanout/16/40B/one-stopped", Size: 40, Subscribers: 16, Stopped: 1, Metric: Messages,
		Rows: []string{"tagbus"},
		// The 15 others get 15/16 of the deliveries, and are to lose no more than a
		// tenth of them.
		Wants: []Goal{{Of: "tagbus", In: "fanout/16/40B", AtLeast: 0.9 * 15 / 16}},
	})
}

func manyTags() []Scenario {
	var all []Scenario
	for _, n := range []int{1, 10, 100, 1000, 10_000, 100_000} {
		s := Scenario{
			Group: "Many tags", Name: fmt.Sprintf("tags/%d", n), Size: 40, Tags: n, Metric: Messages,
			Rows: []string{"tagbus"},
		}
		switch n {
		case 1:
			s.Rows = append(s.Rows, "libzmq")
		case 1000:
			s.Rows = append(s.Rows, "libzmq")
			s.Wants = []Goal{{Of: "tagbus", In: "tags/1", AtLeast: 0.5}}
		case 100_000:
		default:
			s.Only = []string{"full"}
		}
		all = append(all, s)
	}
	return append(all, Scenario{
		Group: "Many tags", Name: "tags/65536-wanted", Size: 40, Tags: 1000, Wanted: 65_536, Metric: Messages,
		Rows: []string{"tagbus", "tagbus-ranges", "tagbus-masks"},
	})
}

// settings compares what the TCP backend does by itself with what can be set instead.
func settings() []Scenario {
	var all []Scenario
	for _, size := range []int{40, 4 * kib, 64 * kib} {
		s := Scenario{Group: "TCP settings", Name: "settings/" + label(size), Size: size, Metric: Messages, Subject: "tagbus-tcp"}
		if size >= 64*kib {
			s.Metric = Bytes
		}
		for _, name := range []string{"-tcp", "+systemcc", "+send256k", "+receive256k"} {
			s.Rows = append(s.Rows, "tagbus"+name)
		}
		all = append(all, s)
	}
	return all
}
