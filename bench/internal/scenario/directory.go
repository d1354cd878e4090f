// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"

	"tagbus/bench/internal/load"
)

// directories have many publishers and as many subscribers that start at once, with 100
// tags each that lie among those of the others. With a hundred of them each is a process of
// its own, as on a site; with a thousand there is no memory for that.
func directories() []Scenario {
	bus := func(n, processes int, only ...string) Scenario {
		return Scenario{
			Group: "Directory", Name: fmt.Sprintf("directory/%d+%d", n, n), Work: load.WorkDirectory, Size: 40, Tags: 100,
			Connects: n, Spread: processes, Once: true, Only: only, Metric: AllSeen, Subject: "etcd-one",
			Rows: []string{"etcd-one", "etcd-three", "folder"},
		}
	}
	goals := func(system string, seconds float64) []Goal {
		return []Goal{
			{System: system, AtMost: seconds},
			{System: system, Metric: MemberBytes, AtMost: 1e9},
			{System: system, Metric: ServersIdle, AtMost: 0.05},
			{System: system, Metric: OneSeen, AtMost: 1},
			{System: system, Metric: WronglyGone, AtMost: 0.5},
		}
	}
	few, hundred, thousand := bus(10, 2, "tiny"), bus(100, 100, "quick", "full"), bus(1000, 2, "quick", "full")
	few.Longer = 10
	hundred.Longer, thousand.Longer = 60, 60 // to be idle in
	hundred.Wants = []Goal{{System: "folder", Metric: ClientsIdle, AtMost: 0.05}}
	thousand.Wants = append(goals("etcd-one", 30), goals("etcd-three", 30)...)
	return []Scenario{few, hundred, thousand}
}
