// SPDX-License-Identifier: Apache-2.0

package out

import (
	"context"
	"slices"
	"time"

	"tagbus/bridge/internal/writer"
	"tagbus/bridge/record"
	"tagbus/bus"
)

const (
	// pollPause is the shortest time between two looks at the positions of all tags. A look takes
	// a tenth of the time at most.
	pollPause = 20 * time.Millisecond
	pollShare = 9

	// maxGone is more than the publishers that have gone and are in the positions.
	maxGone = 64
)

// end is a publisher that has ended.
type end struct {
	instance string
	how      record.How
	at       time.Time
	text     string
}

// back notes that a publisher is there: also its tags of which nothing comes have positions.
func (b *Bridge) back(instance string) {
	b.mu.Lock()
	b.gone = slices.DeleteFunc(b.gone, func(s string) bool { return s == instance })
	b.mu.Unlock()
	b.wake()
}

// ended notes that a publisher has ended, until its last positions are known.
func (b *Bridge) ended(e end) {
	b.mu.Lock()
	b.ends = append(b.ends, e)
	b.mu.Unlock()
	b.wake()
}

// follow looks at the positions when there is something new, until the end.
func (b *Bridge) follow() {
	absent := time.NewTimer(b.cfg.Absence)
	defer absent.Stop()
	for {
		select {
		case <-b.ask:
			began := time.Now()
			b.settle(b.stop)
			pause := time.NewTimer(max(pollPause, pollShare*time.Since(began)))
			select {
			case <-pause.C:
			case <-b.stop.Done():
			}
			pause.Stop()
		case <-absent.C:
			b.settle(b.stop)
			b.writer.EndAway(time.Now())
		case <-b.stop.Done():
			return
		}
	}
}

// settle covers what is missing up to the positions of now, and ends what has ended before.
func (b *Bridge) settle(ctx context.Context) {
	ends := b.takeEnds()
	mark := b.writer.Mark()
	stats, err := b.subscriber.TagPositions(ctx)
	if err != nil { // the end, where Close looks once more
		b.mu.Lock()
		b.ends = append(ends, b.ends...)
		b.mu.Unlock()
		return
	}
	b.writer.Positions(mark, b.standings(stats))
	b.endAll(ends)
}

// endAll ends the chains of publishers.
func (b *Bridge) endAll(ends []end) {
	for _, e := range ends {
		b.writer.End(e.instance, e.how, e.at, e.text)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range ends {
		b.gone = append(b.gone, e.instance)
	}
	b.gone = b.gone[max(0, len(b.gone)-maxGone):]
}

// standings returns what a subscriber says of publishers whose chains have not ended.
func (b *Bridge) standings(stats []bus.TagStats) []writer.Standing {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]writer.Standing, 0, len(stats))
	for i := range stats {
		s := &stats[i]
		if !slices.Contains(b.gone, s.Publisher.Instance) {
			all = append(all, writer.Standing{
				Peer: s.Publisher, Tag: s.Tag, Before: s.Position - s.Published, Position: s.Position, Losses: shares(s.Losses),
			})
		}
	}
	return all
}

// shares returns losses by cause.
func shares(l bus.Losses) (all []record.Share) {
	for _, s := range []record.Share{
		{Cause: record.CauseFull, Count: l.Full},
		{Cause: record.CauseMemory, Count: l.Memory},
		{Cause: record.CauseConnection, Count: l.Connection},
		{Cause: record.CauseEnded, Count: l.Ended},
		{Cause: record.CauseLeftOut, Count: l.LeftOut},
	} {
		if s.Count > 0 {
			all = append(all, s)
		}
	}
	return all
}

// takeEnds returns the publishers that have ended since the last call.
func (b *Bridge) takeEnds() (ends []end) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ends, b.ends = b.ends, nil
	return ends
}
