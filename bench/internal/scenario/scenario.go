// SPDX-License-Identifier: Apache-2.0

// Package scenario is the table of what is measured: the systems, the scenarios
// and the goals. The runner, the tables and the document come from it.
package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"tagbus/bench/internal/load"
)

// Scenario is one load, put on several systems in turn.
type Scenario struct {
	Group string // a section of the document
	Name  string // unique

	Work        string  // of load.Options; default throughput
	Size        int     // of a payload, bytes
	Subscribers int     // processes; default 1
	Connects    int     // subscribers in each of them; default 1
	Spread      int     // of a directory: processes that have the publishers and subscribers
	Stopped     int     // of the processes: stopped, and with the policy drop-newest
	Tags        int     // published round robin; default 1
	Wanted      int     // tags that are served and subscribed to; default Tags
	Rate        float64 // of an open loop
	HalfOf      string  // a scenario: the rate is half of what the system reaches there, measured just before
	Burst       int     // of an open loop: messages that are due together, before which the publisher sleeps; 0: it spins
	Yields      bool    // the publisher that spins does so with runtime.Gosched
	Command     int     // bytes of the messages on a second tag, see load.Options
	Busy        int     // goroutines of a subscriber that compute all the time
	ReadsAll    bool    // the subscriber compares each message byte by byte, and not one in 1,024
	Channel     bool    // answers in ping-pong reach a goroutine through a channel
	Longer      float64 // as often as this the time of the profile; default 1
	Once        bool    // in one round only
	Records     bool    // the subscriber records
	Profiled    bool    // the publisher tells what its time went into

	// Subject is the system whose ratio to each row is computed. Default: tagbus.
	Subject string
	Metric  Metric
	Rows    []string // systems
	Wants   []Goal   // see Goals
	Only    []string // names of profiles; empty: all
}

// Profile is how thorough a run is.
type Profile struct {
	Name    string
	Seconds float64 // of each measurement
	Rounds  int
	Waiting time.Duration // for an idle machine, in all
}

// Profiles are those that the runner knows.
var Profiles = []Profile{
	{"tiny", 0.05, 1, 0}, // that everything works; more than the 40 ms that Nagle may wait for
	{"quick", 0.5, 3, 3 * time.Minute},
	{"full", 1, 5, 20 * time.Minute},
}

const (
	kib = 1 << 10
	mib = 1 << 20
)

// All returns all scenarios.
func All() []Scenario {
	return slices.Concat(throughput(), receives(), producers(), fanOut(), profiled(), manyTags(),
		pingPongs(), openLoops(), mixed(), settings(), scale(), records(), replays(), directories(), secure())
}

// Named returns the scenario of a name.
func Named(name string) (Scenario, bool) {
	all := All()
	i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		return Scenario{}, false
	}
	return all[i], true
}

// label is how a size is written in names.
func label(size int) string {
	switch {
	case size >= mib:
		return strconv.Itoa(size/mib) + "MiB"
	case size >= kib:
		return strconv.Itoa(size/kib) + "KiB"
	default:
		return strconv.Itoa(size) + "B"
	}
}

// In reports whether the scenario is part of a profile.
func (s Scenario) In(p Profile) bool { return len(s.Only) == 0 || slices.Contains(s.Only, p.Name) }

// RowsIn returns the systems that are measured in a profile. One that is to show only that
// everything works leaves out what a system does with smaller and with larger messages, too.
func (s Scenario) RowsIn(p Profile) []string {
	if p.Name != "tiny" {
		return s.Rows
	}
	var rows []string
	for _, row := range s.Rows {
		smaller, larger := false, false
		for _, other := range All() {
			if other.In(p) && slices.Contains(other.Rows, row) && other.likeButSize(s, p) {
				smaller, larger = smaller || other.Size < s.Size, larger || other.Size > s.Size
			}
		}
		if !smaller || !larger {
			rows = append(rows, row)
		}
	}
	return rows
}

// likeButSize reports whether two scenarios differ in nothing but their name and the size of messages.
func (s Scenario) likeButSize(other Scenario, p Profile) bool {
	s.Size = other.Size
	return slices.Equal(s.Args(p), other.Args(p)) && s.Stopped == other.Stopped && s.Profiled == other.Profiled && s.Records == other.Records
}

// Args returns the arguments of the programs of the scenario.
func (s Scenario) Args(p Profile) []string {
	seconds := p.Seconds
	if s.Longer > 0 {
		seconds *= s.Longer
	}
	args := []string{"--size=" + strconv.Itoa(s.Size), "--seconds=" + strconv.FormatFloat(seconds, 'g', -1, 64)}
	add := func(name string, n, unless int) {
		if n > unless {
			args = append(args, fmt.Sprintf("--%s=%d", name, n))
		}
	}
	add("subscribers", s.Processes()*max(1, s.Connects), 1)
	add("connects", s.Connects, 1)
	add("spread", s.Spread, 1)
	add("tags", s.Tags, 1)
	add("wanted", s.Wanted, 1)
	add("burst", s.Burst, 0)
	add("command", s.Command, 0)
	add("busy", s.Busy, 0)
	if s.Work != "" {
		args = append(args, "--work="+s.Work)
	}
	if s.Rate > 0 {
		args = append(args, fmt.Sprintf("--rate=%g", s.Rate))
	}
	if s.Yields {
		args = append(args, "--yield")
	}
	if s.Records && p.Name == "tiny" {
		args = append(args, "--read-back")
	}
	if s.ReadsAll {
		args = append(args, "--read-all=true")
	}
	if s.Channel {
		args = append(args, "--channel")
	}
	return args
}

// Processes is the number of subscriber processes. Those of a directory start them by
// themselves, and a policy has none.
func (s Scenario) Processes() int {
	if s.Work == load.WorkDirectory || s.Work == load.WorkPolicy {
		return 0
	}
	return max(1, s.Subscribers)
}

// Compared returns the system whose ratio to the others is computed.
func (s Scenario) Compared() string {
	if s.Subject == "" {
		return "tagbus"
	}
	return s.Subject
}
