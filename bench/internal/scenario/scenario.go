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

	Work        string // of load.Options; default throughput
	Size        int    // of a payload, bytes
	Subscribers int    // processes; default 1
	Connects    int    // subscribers in each of them; default 1
	Stopped     int    // of the processes: stopped, and with the policy drop-newest
	Tags        int    // published round robin; default 1
	Wanted      int    // tags that are served and subscribed to; default Tags
	Producers   int    // publishing goroutines; default 1
	Rate        float64
	Profiled    bool // for twice the time, and the publisher tells what its time went into

	// Subject is the system whose ratio to each row is computed. Default: tagbus.
	Subject string
	Metric  Metric
	Rows    []Row
	Only    []string // names of profiles; empty: all
}

// Row is a system in a scenario, with what the ratio of the subject to it is to
// be: at least, or at most; 0: no goal.
type Row struct {
	System          string
	AtLeast, AtMost float64
	Of              string // the row is that of another scenario, already measured
}

// Metric is what a scenario compares.
type Metric string

// The metrics. Rates count what all subscribers together received.
const (
	Messages Metric = "messages" // per second
	Bytes    Metric = "bytes"    // per second
	P50      Metric = "p50"      // latency, ns
	Memory   Metric = "memory"   // of the publisher for a subscriber, bytes
)

// Profile is how thorough a run is.
type Profile struct {
	Name    string
	Seconds float64 // of each measurement
	Rounds  int
	Waiting time.Duration // for an idle machine, in all
}

// Profiles are those that the runner knows.
var Profiles = []Profile{
	{"tiny", 0.1, 1, 0}, // that everything works; more than the 40 ms that Nagle may wait for
	{"quick", 0.5, 3, 3 * time.Minute},
	{"full", 1, 5, 20 * time.Minute},
}

const (
	kib = 1 << 10
	mib = 1 << 20
)

// All returns all scenarios.
func All() []Scenario {
	return slices.Concat(throughput(), fanOut(), profiled(), manyTags(), producers(), latency(), settings(), scale())
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

func throughput() []Scenario {
	small := func(size int, zmq, nats, record float64) Scenario {
		return Scenario{
			Group: "Throughput", Name: "throughput/" + label(size), Size: size, Metric: Messages, Subject: "tagbus-p1",
			Rows: []Row{
				{System: "tagbus-p1"},
				{System: "tagbus"},
				{System: "tagbus-batch"},
				{System: "tagbus-thread"},
				{System: "tagbus-q512k"},
				{System: "libzmq", AtLeast: zmq},
				{System: "nats", AtLeast: nats},
				{System: "zmq4"},
				{System: "nng"},
				{System: "gonet"},
				{System: "c-record", AtLeast: record},
				{System: "c-record+cc", AtLeast: record},
			},
		}
	}
	large := func(size int) Scenario {
		return Scenario{
			Group: "Throughput", Name: "throughput/" + label(size), Size: size, Metric: Bytes, Subject: "tagbus-zerocopy-p1",
			Rows: []Row{
				{System: "tagbus-zerocopy-p1"},
				{System: "tagbus-zerocopy"},
				{System: "tagbus"},
				{System: "libzmq"},
				{System: "libzmq-zerocopy"},
				{System: "nats"},
				{System: "zmq4"},
				{System: "nng"},
				{System: "c-block", AtLeast: 1},
				{System: "c-block+cc", AtLeast: 1},
				{System: "c-block-zerocopy"},
			},
		}
	}
	return []Scenario{
		small(40, 10, 25, 0.5),
		small(256, 8, 0, 0),
		small(kib, 7, 0, 0),
		small(4*kib, 0, 0, 0.85),
		large(64 * kib),
		large(mib),
	}
}

func fanOut() []Scenario {
	var all []Scenario
	for _, subscribers := range []int{4, 16} {
		for _, size := range []int{40, kib, 64 * kib} {
			s := Scenario{
				Group: "Fan-out", Name: fmt.Sprintf("fanout/%d/%s", subscribers, label(size)),
				Size: size, Subscribers: subscribers, Metric: Messages, Subject: "tagbus-p1",
				Rows: []Row{
					{System: "tagbus-p1"},
					{System: "libzmq"},
					{System: "nats"},
					{System: "c-record"},
					{System: "c-record+cc"},
					{System: "tagbus"},
				},
			}
			if size == 40 {
				s.Rows[1].AtLeast = 10
			}
			if size >= 64*kib {
				s.Metric = Bytes
			}
			all = append(all, s)
		}
	}
	return append(all, Scenario{
		Group: "Fan-out", Name: "fanout/16/40B/one-stopped", Size: 40, Subscribers: 16, Stopped: 1, Metric: Messages,
		// The 15 others get 15/16 of the deliveries, and are to lose no more than a
		// tenth of them.
		Rows: []Row{{System: "tagbus"}, {System: "tagbus", Of: "fanout/16/40B", AtLeast: 0.9 * 15 / 16}},
	})
}

func manyTags() []Scenario {
	var all []Scenario
	for _, n := range []int{1, 10, 100, 1000, 10_000, 100_000} {
		s := Scenario{
			Group: "Many tags", Name: fmt.Sprintf("tags/%d", n), Size: 40, Tags: n, Metric: Messages,
			Rows: []Row{{System: "tagbus"}},
		}
		switch n {
		case 1:
			s.Rows = append(s.Rows, Row{System: "libzmq"})
		case 1000:
			s.Rows = append(s.Rows, Row{System: "libzmq"}, Row{System: "tagbus", Of: "tags/1", AtLeast: 0.5})
		case 100_000:
			s.Rows = append(s.Rows, Row{System: "tagbus", Of: "tags/1"})
		default:
			s.Only = []string{"full"}
		}
		all = append(all, s)
	}
	return append(all, Scenario{
		Group: "Many tags", Name: "tags/65536-wanted", Size: 40, Tags: 1000, Wanted: 65_536, Metric: Messages,
		Rows: []Row{{System: "tagbus"}, {System: "tagbus-ranges"}, {System: "tagbus-masks"}},
	})
}

func producers() []Scenario {
	var all []Scenario
	for _, n := range []int{1, 2, 4, 8} {
		s := Scenario{
			Group: "Many publishing goroutines", Name: fmt.Sprintf("producers/%d", n), Size: 40, Producers: n, Metric: Messages,
			Rows: []Row{{System: "tagbus"}},
		}
		if n > 1 {
			s.Rows = append(s.Rows, Row{System: "tagbus", Of: "producers/1", AtLeast: 0.7})
		}
		all = append(all, s)
	}
	return all
}

// scale has several subscribers in each process, since a process takes more
// than what is measured.
func scale() []Scenario {
	only := []Row{{System: "tagbus"}}
	rows := []Row{{System: "tagbus"}, {System: "tagbus-loops2"}}
	return []Scenario{
		{Group: "Scale", Name: "idle/1000", Work: load.WorkIdle, Size: 40, Subscribers: 1, Connects: 1000, Metric: Memory, Rows: rows},
		{Group: "Scale", Name: "idle/10000", Work: load.WorkIdle, Size: 40, Subscribers: 4, Connects: 2500, Metric: Memory, Rows: only, Only: []string{"full"}},
		{Group: "Scale", Name: "traffic/1000", Size: 40, Subscribers: 1, Connects: 1000, Metric: Messages, Rows: rows},
	}
}

// In reports whether the scenario is part of a profile.
func (s Scenario) In(p Profile) bool { return len(s.Only) == 0 || slices.Contains(s.Only, p.Name) }

// Args returns the arguments of the programs of the scenario.
func (s Scenario) Args(p Profile) []string {
	seconds := p.Seconds
	if s.Profiled {
		seconds *= 2
	}
	args := []string{"--size=" + strconv.Itoa(s.Size), "--seconds=" + strconv.FormatFloat(seconds, 'g', -1, 64)}
	add := func(name string, n int) {
		if n > 1 {
			args = append(args, fmt.Sprintf("--%s=%d", name, n))
		}
	}
	add("subscribers", s.Processes()*max(1, s.Connects))
	add("connects", s.Connects)
	add("tags", s.Tags)
	add("wanted", s.Wanted)
	add("producers", s.Producers)
	if s.Work != "" {
		args = append(args, "--work="+s.Work)
	}
	if s.Rate > 0 {
		args = append(args, fmt.Sprintf("--rate=%g", s.Rate))
	}
	return args
}

// Processes is the number of subscriber processes.
func (s Scenario) Processes() int { return max(1, s.Subscribers) }

// Compared returns the system whose ratio to the others is computed.
func (s Scenario) Compared() string {
	if s.Subject == "" {
		return "tagbus"
	}
	return s.Subject
}
