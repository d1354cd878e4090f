// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recorder

import (
	"context"
	"time"

	"tagbus/bus"
	"tagbus/recording"
	"tagbus/tags"
)

const (
	// positionsTime is how long the subscriber may take to say its counts.
	positionsTime = 5 * time.Second

	// positionsPerTurn is how many positions a turn of the loop takes.
	positionsPerTurn = 1000
)

// positions has recorded where the messages of each tag and publisher begin: behind those
// that were published before the subscription was acknowledged. So a tag of which nothing
// came is known too.
type positions struct {
	due   chan struct{} // a publisher has acknowledged; has room for one
	known map[position]struct{}
}

// position is what has one.
type position struct {
	instance string
	tag      tags.Tag
}

func newPositions() positions {
	return positions{make(chan struct{}, 1), make(map[position]struct{})}
}

// ask has the positions recorded that are new. Blocks: never.
func (p *positions) ask() {
	select {
	case p.due <- struct{}{}:
	default: // asked already
	}
}

// news returns the events for the tags that are new among stats.
func (p *positions) news(stats []bus.TagStats) (events []recording.Event) {
	now := time.Now()
	for i := range stats {
		st := &stats[i]
		at := position{st.Publisher.Instance, st.Tag}
		if _, ok := p.known[at]; ok {
			continue
		}
		p.known[at] = struct{}{}
		events = append(events, recording.Event{
			Kind: recording.Position, Time: now, Peer: st.Publisher, Tag: st.Tag, Count: st.Position - st.Published,
		})
	}
	return events
}

// notePositions records positions until the end.
func (r *run) notePositions() {
	for {
		select {
		case <-r.ending.Done():
			return
		case <-r.positions.due:
			r.recordPositions()
		}
	}
}

// lastPositions records those that are due at the end.
func (r *run) lastPositions() {
	select {
	case <-r.positions.due:
		r.recordPositions()
	default:
	}
}

// recordPositions records the positions that are new.
func (r *run) recordPositions() {
	ctx, cancel := context.WithTimeout(context.Background(), positionsTime)
	defer cancel()
	stats, err := r.subscriber.TagPositions(ctx)
	if err != nil {
		r.console.Warn("the recording does not say where tags begin: %v", err)
		return
	}
	for events := r.positions.news(stats); len(events) > 0; {
		n := min(len(events), positionsPerTurn)
		some := events[:n]
		events = events[n:]
		r.onLoop(func() {
			for _, e := range some {
				r.intake.event(e)
			}
		})
	}
}
