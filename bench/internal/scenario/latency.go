package scenario

import (
	"fmt"

	"tagbus/bench/internal/load"
)

func latency() []Scenario {
	all := []Scenario{
		{
			Group: "Latency", Name: "pingpong/64B", Work: load.WorkPingPong, Size: 64, Metric: P50, Subject: "tagbus-thread",
			Rows: []Row{
				{System: "tagbus-thread"},
				{System: "tagbus-immediate"},
				{System: "libzmq", AtMost: 0.65},
				{System: "nats"},
				{System: "zmq4"},
				{System: "nng"},
				{System: "gonet"},
				{System: "c-epoll", AtMost: 1},
				{System: "c-epoll+cc", AtMost: 1},
			},
		},
		{
			Group: "Latency", Name: "pingpong/64B/busy-poll", Work: load.WorkPingPong, Size: 64, Metric: P50, Subject: "tagbus-spin",
			Rows: []Row{{System: "tagbus-spin"}, {System: "c-busy", AtMost: 1.25}, {System: "c-busy+cc", AtMost: 1.25}, {System: "c-busy-two+cc"}},
		},
	}
	for _, rate := range []float64{50_000, 500_000} {
		all = append(all, Scenario{
			Group: "Latency", Name: fmt.Sprintf("openloop/64B/%.0f-per-s", rate), Work: load.WorkOpenLoop, Size: 64, Rate: rate,
			Metric: P50, Subject: "tagbus-thread-immediate",
			Rows: []Row{
				{System: "tagbus-thread-immediate"},
				{System: "tagbus-immediate"},
				{System: "tagbus-100us"},
				{System: "tagbus"},
				{System: "tagbus-spin"},
				{System: "libzmq"},
				{System: "nats"},
				{System: "gonet"},
				{System: "c-epoll"},
				{System: "c-busy"},
			},
		})
	}
	return all
}
