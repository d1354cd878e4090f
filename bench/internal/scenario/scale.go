// SPDX-License-Identifier: Apache-2.0

package scenario

import "tagbus/bench/internal/load"

// scale has several subscribers in each process, since a process takes more
// than what is measured. What is idle is watched for several heartbeats.
func scale() []Scenario {
	idle := func(name string, processes, connects int, rows ...string) Scenario {
		return Scenario{
			Group: "Scale", Name: "idle/" + name, Work: load.WorkIdle, Size: 40, Subscribers: processes, Connects: connects,
			Longer: 8, Metric: Memory, Subject: "tagbus-tcp", Rows: rows,
		}
	}
	one := idle("node", 1, 1, "tagbus")
	one.Subject = "tagbus"
	one.Metric = IdleCPU
	one.Wants = []Goal{{AtMost: 0.005}, {Metric: SubscriberIdle, AtMost: 0.005}}
	thousand := idle("1000", 1, 1000, "tagbus-tcp", "tagbus-tcp-loops2")
	thousand.Only = []string{"tiny", "full"}
	many := idle("10000", 4, 2500, "tagbus-tcp")
	many.Wants = []Goal{{Metric: IdleCPU, AtMost: 0.02}, {AtMost: 12e3}, {Metric: SubscriberMemory, AtMost: 24e3}}
	many.Only = []string{"quick", "full"}
	many.Longer, many.Once = 64, true // so many have a heartbeat every 30 s
	return []Scenario{one, thousand, many, {
		Group: "Scale", Name: "traffic/1000", Size: 40, Subscribers: 1, Connects: 1000, Metric: Messages, Subject: "tagbus-tcp",
		Rows: []string{"tagbus-tcp", "tagbus-tcp-loops2"}, Only: many.Only, // what waits for 1,000 at the end takes seconds
	}}
}
