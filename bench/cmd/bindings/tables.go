// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"
)

// Programs, as build knows them.
const (
	goProgram   = "tagbus in Go"
	cProgram    = "tagbus in C"
	python      = "tagbus in Python"
	zmqProgram  = "libzmq in C"
	zmqPython   = "pyzmq"
	natsProgram = "nats.go"
)

// end is a publisher or a subscriber.
type end struct {
	program string
	flags   []string
}

func run(program string, flags ...string) end { return end{program, flags} }

// row is a publisher and a subscriber.
type row struct {
	name     string
	pub, sub end
}

// onlyHere reports whether cmd/run has no row with these programs.
func (r row) onlyHere() bool {
	elsewhere := []string{goProgram, zmqProgram, natsProgram}
	return !slices.Contains(elsewhere, r.pub.program) || !slices.Contains(elsewhere, r.sub.program)
}

// What is measured: the processor time of a side, or the round trip.
const (
	ofPublisher = iota + 1
	ofSubscriber
	roundTrip
)

// goal is a bound of the ratio of two rows; 0: none.
type goal struct {
	of, by string
	bound  float64
	least  bool // it is a lower one
}

// table is of rows that take turns.
type table struct {
	name  string
	size  int
	flags []string // of both ends
	of    int
	rows  []row
	goals []goal
}

func (t table) unit() string {
	switch t.of {
	case ofPublisher:
		return "processor time of the publisher's process, ns a message"
	case ofSubscriber:
		return "processor time of the subscriber's process, ns a message"
	}
	return "median round trip, ns"
}

func tables() []table {
	return []table{receive(40, 1.3, 1.3, 30), receive(1024, 1.3, 2, 0), receive(65536, 1.5, 2, 0), publishBatches(), publishSingle(), roundTrips()}
}

// receive returns the table of subscribers.
func receive(size int, loop, arrays, pyzmq float64) table {
	flood, zmqFlood := run(goProgram, "-way=batch"), run(zmqProgram)
	return table{
		name: fmt.Sprintf("bindings/receive/%dB", size), size: size, flags: []string{"-size=" + strconv.Itoa(size)}, of: ofSubscriber,
		rows: []row{
			{"Go SubscribeBatch", flood, run(goProgram, "-receive=batch")},
			{"C on the loop", flood, run(cProgram, "-way=loop")},
			{"Go Messages", flood, run(goProgram, "-receive=messages")},
			{"C pull", flood, run(cProgram, "-way=pull")},
			{"C thread", flood, run(cProgram, "-way=thread")},
			{"Python arrays", flood, run(python)},
			{"Python messages", flood, run(python, "-way=messages")},
			{"libzmq in C", zmqFlood, run(zmqProgram)},
			{"pyzmq", zmqFlood, run(zmqPython)},
			{"nats.go", run(natsProgram), run(natsProgram)},
		},
		goals: []goal{
			{of: "C on the loop", by: "Go SubscribeBatch", bound: loop},
			{of: "C pull", by: "Go Messages", bound: 1.1},
			{of: "Python arrays", by: "C pull", bound: arrays},
			{of: "pyzmq", by: "Python arrays", bound: pyzmq, least: true},
			{of: "libzmq in C", by: "C pull"},
			{of: "nats.go", by: "Go Messages"},
		},
	}
}

var sink = run(goProgram, "-receive=batch")

func publishBatches() table {
	return table{
		name: "bindings/publish/batches-of-64", size: 40, flags: []string{"-size=40"}, of: ofPublisher,
		rows: []row{{"Go PublishBatch", run(goProgram, "-way=batch"), sink}, {"C batch", run(cProgram, "-way=batch"), sink}},
		goals: []goal{
			{of: "C batch", by: "Go PublishBatch", bound: 1.3},
		},
	}
}

func publishSingle() table {
	return table{
		name: "bindings/publish/one-by-one", size: 40, flags: []string{"-size=40"}, of: ofPublisher,
		rows: []row{
			{"Go Publish", run(goProgram), sink},
			{"C publish", run(cProgram), sink},
			{"C writer", run(cProgram, "-way=writer"), sink},
			{"libzmq in C", run(zmqProgram), run(zmqProgram)},
		},
		goals: []goal{
			{of: "C publish", by: "Go Publish", bound: 3},
			{of: "C writer", by: "Go Publish", bound: 1.3},
		},
	}
}

func roundTrips() table {
	return table{
		name: "bindings/round-trip", size: 40, flags: []string{"-size=40", "-work=pingpong"}, of: roundTrip,
		rows: []row{
			{"Go", run(goProgram, "-channel"), run(goProgram)},
			{"C", run(cProgram), run(goProgram)},
			{"C, answered in C", run(cProgram), run(cProgram)},
			{"Python", run(python), run(goProgram)},
			{"libzmq in C", run(zmqProgram), run(zmqProgram)},
			{"pyzmq", run(zmqPython), run(zmqProgram)},
			{"nats.go", run(natsProgram), run(natsProgram)},
		},
		goals: []goal{
			{of: "C", by: "Go", bound: 1.1},
			{of: "Python", by: "Go", bound: 1.3},
			{of: "pyzmq", by: "Python"},
		},
	}
}
