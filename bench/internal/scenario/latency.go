// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"

	"tagbus/bench/internal/load"
)

// The yardsticks of latency whose two processes do not take turns on one processor,
// see Apart.
const (
	apartC  = "c-epoll-apart+cc"
	apartGo = "gonet-apart"
)

func pingPong(name, subject string, rows ...string) Scenario {
	return Scenario{
		Group: "Latency", Name: name, Work: load.WorkPingPong, Size: 64, Metric: P50, Subject: subject, Rows: rows,
	}
}

// pingPongs are round trips: between two handlers, and as a program makes them that
// publishes and then waits for the answer.
func pingPongs() []Scenario {
	channel := pingPong("pingpong/64B/channel", "tagbus", "tagbus", "tagbus-tcp",
		"libzmq", "libzmq-ipc", "nats", "gonet", apartGo, "gonet-inline", "c-epoll+cc", apartC, "c-epoll-two+cc")
	channel.Channel = true
	channel.Wants = []Goal{{Of: apartC, AtMost: 1}, atMost("tagbus-tcp", apartGo, 1.25), atMost("tagbus-tcp", "libzmq", 0.7)}
	handler := pingPong("pingpong/64B", "tagbus", "tagbus", "tagbus-thread", "tagbus-tcp",
		"libzmq", "libzmq-ipc", "nats", "zmq4", "nng", "gonet", "c-epoll", "c-epoll+cc", apartC)
	handler.Wants = []Goal{{Of: apartC, AtMost: 1}, atMost("tagbus-tcp", apartC, 1.1)}
	busy := pingPong("pingpong/64B/busy-poll", "tagbus-spin", "tagbus-spin", "tagbus-tcp-spin", "c-busy", "c-busy+cc", "c-busy-two+cc")
	busy.Wants = []Goal{{Of: "c-busy+cc", AtMost: 0.1}}
	return []Scenario{channel, handler, busy}
}

// atMost is a goal of another system than the one that is compared.
func atMost(system, of string, times float64) Goal {
	return Goal{System: system, Of: of, AtMost: times}
}

// openLoops have a publisher that sleeps between bursts, one every 200 µs whatever
// the rate, publishers that spin, and a subscriber whose program computes.
func openLoops() []Scenario {
	loop := func(rate float64, pace string, rows ...string) Scenario {
		return Scenario{
			Group: "Latency", Name: fmt.Sprintf("openloop/64B/%.0f-per-s/%s", rate, pace), Work: load.WorkOpenLoop,
			Size: 64, Rate: rate, Metric: P50, Rows: rows,
		}
	}
	sleeps := loop(50_000, "sleeps", "tagbus", "tagbus-flush", "tagbus-1ms", "tagbus-thread", "tagbus-tcp", "tagbus-tcp-flush",
		"libzmq", "nats", "gonet", "c-epoll+cc", apartC)
	sleeps.Burst = 10
	sleeps.Wants = []Goal{
		{Of: apartC, AtMost: 0.8},
		{Metric: CPU, Of: "tagbus-tcp", AtMost: 0.65},
		atMost("tagbus-tcp", "libzmq", 1),
		atMost("tagbus-tcp", apartC, 1.5),
		atMost("tagbus-tcp-flush", apartC, 1.5),
		{System: "tagbus-tcp", Metric: CPU, Of: apartC, AtMost: 1.4},
		{System: "tagbus-tcp-flush", Metric: CPU, Of: apartC, AtMost: 1.4},
	}
	fast := loop(500_000, "sleeps", "tagbus", "tagbus-flush", "libzmq", "nats", "gonet", "c-epoll+cc", apartC)
	fast.Burst = 100
	fast.Wants = []Goal{{Of: "libzmq", AtMost: 0.8}}

	spins := loop(50_000, "spins", "tagbus", "tagbus-thread", "tagbus-spin",
		"libzmq", "nats", "gonet", apartC, "c-busy")
	spins.Wants = []Goal{{Of: apartC, AtMost: 1.4}, {Metric: P99, Of: "libzmq", AtMost: 1}, {Metric: CPU, Of: apartC, AtMost: 2}}
	yields := loop(50_000, "yields", "tagbus", "tagbus-thread", "libzmq", "nats", "gonet", apartC)
	yields.Yields, yields.Wants = true, spins.Wants
	busy := loop(5000, "busy-subscriber", "tagbus", "tagbus-thread")
	busy.Burst, busy.Busy = 1, 2
	return []Scenario{sleeps, fast, spins, yields, busy}
}

// mixed has commands beside bulk of which each system carries half of what it can,
// and all carry the same, a quarter to half of what libzmq can.
func mixed() []Scenario {
	beside := func(name string, rows ...string) Scenario {
		return Scenario{
			Group: "Commands beside bulk", Name: "mixed/" + name, Work: load.WorkOpenLoop, Size: kib, Tags: 2, Command: 64,
			Burst: 64, Longer: 4, Metric: P50, Rows: rows, Wants: []Goal{{Metric: P99, Of: "libzmq", AtMost: 1.5}},
		}
	}
	half := beside("half", "tagbus", "libzmq")
	half.HalfOf = "throughput/1KiB"
	same := beside("250000-per-s", "tagbus", "libzmq", "nats", apartC)
	same.Rate = 250_000
	return []Scenario{half, same}
}
