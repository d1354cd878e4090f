// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"time"

	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/hostaddr"
	"tagbus/bus/state"
)

// StateAt is Publisher.State at another time than now.
func StateAt(p *Publisher, q state.Question, now time.Time) state.State {
	return publisherOf(p).snapshot(state.Publisher, q.Bounded(), now)
}

// SliceSteps is the budget of a slice of work on the loop.
const SliceSteps = 16 << 10

// SliceSlack is what a slice may take beyond its budget: the part of a job that
// cannot be cut.
const SliceSlack = 128 << 10

// WorkOf returns how many steps the jobs of a publisher have taken so far, and the
// most in one slice.
func WorkOf(p *Publisher) (steps uint64, longest int) {
	type work struct {
		steps   uint64
		longest int
	}
	done := make(chan work)
	if !publisherOf(p).loop.Post(func() { done <- work{publisherOf(p).work.Total, publisherOf(p).work.Longest} }) {
		return 0, 0
	}
	w := <-done
	return w.steps, w.longest
}

// WalkedBy returns how many steps all walks through the tags of a publisher have taken
// so far.
func WalkedBy(p *Publisher) uint64 { return shapeOf(p).Walked }

// RoutesOf returns how many routes and streams a publisher has, and how many of the
// streams several lanes share.
func RoutesOf(p *Publisher) (routes, streams, shared int) {
	x := shapeOf(p)
	return x.Routes, x.Streams, x.Shared
}

// RoutedTo returns how many of the known tags have a route to so many lanes.
func RoutedTo(p *Publisher, lanes int) (n int) { return shapeOf(p).Tags[lanes] }

func shapeOf(p *Publisher) fanout.Shape {
	publisherOf(p).fan.Mu.Lock()
	defer publisherOf(p).fan.Mu.Unlock()
	return publisherOf(p).fan.Shape()
}

// SetPublisherHost and SetReceiverHost set the host whose addresses are announced.
func SetPublisherHost(cfg *PublisherConfig, h hostaddr.Host) { cfg.host = h }
func SetReceiverHost(cfg *ReceiverConfig, h hostaddr.Host)   { cfg.host = h }

// BeginDrain does what Sender.Drain does first.
func BeginDrain(s *Sender) { senderOf(s).ended.Store(true) }

// WithOfferSteps calls f while Offers may take so many steps.
func WithOfferSteps(steps int, f func()) {
	before := maxOfferSteps
	maxOfferSteps = steps
	defer func() { maxOfferSteps = before }()
	f()
}

// RowsOf returns messages as a program in C has them.
func RowsOf(messages []Message) []Row {
	rows := make([]Row, len(messages))
	for i, m := range messages {
		rows[i] = Row{Tag: m.Tag, Data: address(m.Data), Size: uint32(len(m.Data)), Status: m.Status}
		if len(m.Data) == 0 {
			rows[i].Data = 0
		}
	}
	return rows
}
