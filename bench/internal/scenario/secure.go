// SPDX-License-Identifier: Apache-2.0

package scenario

import "tagbus/bench/internal/load"

// secure compares the bus over TLS with the bus over plain TCP, with other systems that
// encrypt and know their peers, and with what TLS in Go and its cipher can do at all.
func secure() []Scenario {
	over := func(size int, metric Metric, times float64) Scenario {
		return Scenario{
			Group: "TLS", Name: "tls/" + label(size), Size: size, Metric: metric, Subject: "tagbus-tls",
			Rows:  []string{"tagbus-tls", "tagbus-tcp", "nats-tls", "nats", "zmq4-curve", "zmq4", "gonet-tls", "gonet", "aes-gcm"},
			Wants: []Goal{{Metric: CPU, Of: "tagbus-tcp", AtMost: 1 / times}},
		}
	}
	block := func(size int) Scenario {
		s := over(size, Bytes, 0.5)
		s.Wants = append(s.Wants, Goal{Metric: CPU, Of: "gonet-tls", AtMost: 1})
		return s
	}
	trip := Scenario{
		Group: "TLS", Name: "tls/pingpong/64B", Work: load.WorkPingPong, Size: 64, Metric: P50, Subject: "tagbus-tls",
		Rows:  []string{"tagbus-tls", "tagbus-tcp", "nats-tls", "nats", "zmq4-curve", "zmq4", "gonet-tls", "gonet"},
		Wants: []Goal{{Of: "tagbus-tcp", AtMost: 1.3}},
	}
	fan := Scenario{
		Group: "TLS", Name: "tls/fanout/4/64KiB", Size: 64 * kib, Subscribers: 4, Metric: Bytes, Subject: "tagbus-tls",
		Rows: []string{"tagbus-tls", "tagbus-tls-loops2", "tagbus-tcp", "tagbus-tcp-loops2"},
	}
	connect := Scenario{
		Group: "TLS", Name: "tls/connect/1000", Work: load.WorkIdle, Size: 40, Connects: 1000, Metric: Connected,
		Subject: "tagbus-tls", Rows: []string{"tagbus-tls", "tagbus-tcp"},
		Wants: []Goal{{AtMost: 5}, {Metric: Dropped, AtMost: 0.5}},
	}
	policy := Scenario{
		Group: "TLS", Name: "tls/policy/1000-rules", Work: load.WorkPolicy, Size: 40, Tags: 100_000, Longer: 4, Metric: P50,
		Subject: "acl", Rows: []string{"acl", "acl-next"}, Wants: []Goal{{Metric: P99, AtMost: 5e6}},
	}
	return []Scenario{over(40, Messages, 0.6), block(64 * kib), block(mib), trip, fan, connect, policy}
}
