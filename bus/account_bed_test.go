// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/tags"
)

// ledgerKey names what is counted together.
type ledgerKey struct {
	Policy string
	Tag    tags.Tag
}

// ledger is the side that publishes, or sends.
type ledger interface {
	Instance() string
	TagLosses(instance string) []bus.TagLosses
}

// tally is the side that receives.
type tally interface {
	Instance() string
	TagStats(ctx context.Context) ([]bus.TagStats, error)
}

// audit checks guarantee 2 between one publisher and one subscriber, whose connection
// stands and is quiet, for the tags of a set. Each published message is delivered or
// reported, and both ends count the same by tag and cause. It returns what is wrong.
func audit(tb testing.TB, p ledger, s tally, set tags.Set) (problems []string) {
	tb.Helper()
	here, there := make(map[ledgerKey]bus.Losses), make(map[ledgerKey]bus.Losses)
	all, err := s.TagStats(context.Background())
	must(tb, err)
	for _, st := range all {
		if st.Publisher.Instance != p.Instance() || !set.Contains(st.Tag) {
			continue
		}
		l := st.Losses
		if st.Published != st.Delivered+l.Lost()+l.LeftOut {
			problems = append(problems, fmt.Sprintf("tag %v: published %d, delivered %d, lost %+v", st.Tag, st.Published, st.Delivered, l))
		}
		if l != (bus.Losses{}) {
			key := ledgerKey{st.Config.Policy.String(), st.Tag}
			here[key] = plus(here[key], l) // lanes of one policy may differ in their backlog
		}
	}
	for _, l := range p.TagLosses(s.Instance()) {
		if set.Contains(l.Tag) && l.Losses != (bus.Losses{}) {
			key := ledgerKey{l.Policy.String(), l.Tag}
			there[key] = plus(there[key], l.Losses)
		}
	}
	if d := cmp.Diff(there, here); d != "" {
		problems = append(problems, fmt.Sprintf("losses of tags (-publisher +subscriber):\n%s", d))
	}
	return problems
}

// auditSums checks that the sums of a subscriber at its publisher are those of
// its tags.
func auditSums(p *publisher, s *subscriber) (problems []string) {
	want, got := make(map[string]bus.Losses), make(map[string]bus.Losses)
	for _, l := range p.TagLosses(s.Instance()) {
		want[l.Policy.String()] = plus(want[l.Policy.String()], l.Losses)
	}
	st := p.Stats()
	for _, state := range slices.Concat(st.Subscribers, st.Gone) {
		if state.Peer.Instance != s.Instance() {
			continue
		}
		for _, lane := range state.Lanes {
			if lane.Losses != (bus.Losses{}) {
				got[lane.Policy.String()] = plus(got[lane.Policy.String()], lane.Losses)
			}
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		problems = append(problems, fmt.Sprintf("sums at the publisher (-of the tags +of the lanes):\n%s", d))
	}
	return problems
}

func plus(a, b bus.Losses) bus.Losses {
	return bus.Losses{
		Full: a.Full + b.Full, Memory: a.Memory + b.Memory, Connection: a.Connection + b.Connection,
		Ended: a.Ended + b.Ended, LeftOut: a.LeftOut + b.LeftOut,
	}
}

func minus(a, b bus.Losses) bus.Losses {
	return bus.Losses{
		Full: a.Full - b.Full, Memory: a.Memory - b.Memory, Connection: a.Connection - b.Connection,
		Ended: a.Ended - b.Ended, LeftOut: a.LeftOut - b.LeftOut,
	}
}

// reported sums up the Gap events of a publisher, from the nth on, by tag.
func reported(s *member, instance string, from int) map[tags.Tag]bus.Losses {
	sum := make(map[tags.Tag]bus.Losses)
	for _, e := range s.of(bus.Gap)[from:] {
		if e.Peer.Instance != instance {
			continue
		}
		var l bus.Losses
		switch {
		case errors.Is(e.Err, bus.ErrTooSlow):
			l.Full = e.Count
		case errors.Is(e.Err, bus.ErrPublisherMemory):
			l.Memory = e.Count
		case errors.Is(e.Err, bus.ErrConnectionLost):
			l.Connection = e.Count
		case errors.Is(e.Err, bus.ErrLeftOut):
			l.LeftOut = e.Count
		default:
			l.Ended = e.Count
		}
		sum[e.Tag] = plus(sum[e.Tag], l)
	}
	return sum
}
