// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"tagbus/bus/internal/intake"
	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/snapshot"
	"tagbus/bus/internal/tagmap"
	"tagbus/bus/internal/workqueue"
	"tagbus/tags"
)

// SubscriberStats counts what a subscriber has seen.
type SubscriberStats struct {
	Publishers int    // connected now
	Messages   uint64 // received in a subscription's set
	Bytes      uint64 // payload of those
	Pages      uint64
	Lost       uint64 // messages reported by Gap events, except those left out
	LeftOut    uint64 // messages left out by the policies Latest and Sample
	Overflowed uint64 // messages received and lost in the full queues of subscriptions without handler: Subscription.Overflowed
	Unwanted   uint64 // messages that came after their subscription was closed here
	Panics     uint64 // handler calls that panicked
	Silent     uint64 // connections closed here because nothing was heard of the publisher
	NotAllowed uint64 // times that a peer was refused what no rule lets it do, or this side was
	Broken     uint64 // connections that ended without goodbye, silent ones too
	OwnStalls  uint64 // of these, with an OwnStallError: closed there after this program took nothing

	Retained      int    // messages that are retained now
	RetainedBytes int    // memory that is kept for them
	RetainRefused uint64 // calls of Retain beyond SubscriberConfig.RetainBytes

	Losses Losses // Lost and LeftOut by cause

	EntryFailing bool // of a Receiver: its entry in the directory cannot be renewed now

	ByBackend []BackendCount // Publishers by the backend of their connections; those that there has been one of
}

// BackendCount is how many connections go by one backend.
type BackendCount struct {
	Backend     string // "tcp", "shm"
	Connections int    // open now
}

// backendCounts returns counts as users see them.
func backendCounts(of *snapshot.Backends) (all []BackendCount) {
	for _, c := range of.All() {
		all = append(all, BackendCount{c.Backend, c.Connected})
	}
	return all
}

type subscriberCounters struct {
	intake.Counters
	publishers atomic.Int64
	byBackend  snapshot.Backends // of publishers
}

// connected notes a connection that begins, 1, or ends, -1.
func (c *subscriberCounters) connected(p *Peer, n int) {
	c.publishers.Add(int64(n))
	c.byBackend.Add(p.Backend, n)
}

// Stats returns the subscriber's counters, correct to the page.
func (handle *Subscriber) Stats() SubscriberStats {
	s := subscriberOf(handle)
	c, counts := &s.counters, s.counters.Counts()
	losses := lossesOf(&counts.Lost)
	retained, retainedBytes, retainRefused := s.retainer.Stats()
	return SubscriberStats{
		Publishers: int(c.publishers.Load()), Messages: counts.Messages, Bytes: counts.Bytes, Pages: counts.Pages,
		Lost: losses.Lost(), LeftOut: losses.LeftOut, Unwanted: counts.Unwanted, Panics: counts.Panics, Silent: s.silent.Load(),
		Retained: retained, RetainedBytes: retainedBytes, RetainRefused: retainRefused,
		NotAllowed: s.door.Told(), ByBackend: backendCounts(&c.byBackend),
		Losses: losses, Overflowed: counts.Overflowed(), Broken: s.broken.All(), OwnStalls: s.broken.Own(), EntryFailing: s.trouble.Failing(),
	}
}

// TagStats are the counters of one tag of one publisher, in subscriptions of one
// SubscriptionConfig, since the subscriber first met the publisher:
//
//	Published = Delivered + Losses.Lost() + Losses.LeftOut
type TagStats struct {
	Publisher *Peer // as of the newest connection
	Since     time.Time
	Tag       tags.Tag
	Config    SubscriptionConfig

	// Position counts the messages of the tag that the publisher has published, as far
	// as this subscriber knows.
	Position uint64

	// Published counts those published between the acknowledgement of a subscription to
	// the tag and its end.
	Published uint64

	Delivered uint64 // to at least one handler or queue
	Losses    Losses // the rest, by the reason

	// Overflowed counts those that a full queue lost after delivery:
	// Subscription.Overflowed. A message lost by two queues counts twice.
	Overflowed uint64
}

// maxPast is how many publishers TagStats lists that are gone for good.
const maxPast = 16

// Instance returns the subscriber's id: a nuid, new for every Subscriber.
//
//go:noinline
func (handle *Subscriber) Instance() string { return subscriberOf(handle).own.Instance }

// TagStats returns the counters of each tag, by publisher, policy and tag. Tags without
// a message received or known to be lost are not listed. Of the publishers that are
// gone for good, the last 16 are listed. Beyond a thousand tags, those that no
// subscription wants any more may be forgotten. A publisher counts the same losses for
// this subscriber: see Publisher.TagLosses. While a connection is up the two may differ
// by the messages on their way.
//
//   - Errors: ErrClosed; ErrOnLoop on the loop of another node; the cause of the end
//     of ctx.
//   - Threads: any. Blocks: until the loop has collected the result between other work,
//     some milliseconds for 10,000 tags. On the loop it collects the result itself, at
//     once.
//
//go:noinline
func (handle *Subscriber) TagStats(ctx context.Context) ([]TagStats, error) {
	return subscriberOf(handle).statsOf(ctx, false)
}

// TagPositions is TagStats with the tags of which nothing was published since the
// subscription was acknowledged: their Position is what the publisher had published before.
// A tag without any message is not listed.
func (handle *Subscriber) TagPositions(ctx context.Context) ([]TagStats, error) {
	s := subscriberOf(handle)
	return s.statsOf(ctx, true)
}

// statsOf returns statistics.
//
//   - silent: with those of tags without a message since.
func (s *subscriberImpl) statsOf(ctx context.Context, silent bool) ([]TagStats, error) {
	if s.closed.Load() {
		return nil, ErrClosed
	}
	parts, err := workqueue.Ask(ctx, s.asked(), func(tell func([][]TagStats)) workqueue.Job {
		configs := s.lanes.All()
		return intake.Collect(ctx, s.met(), intakeOf, func(at receivedPart, e *knownTag) (TagStats, bool) {
			stats, some := tagStatsOf(at, configs[at.Lane], e)
			return stats, some || silent && stats.Position > 0
		}, tell)
	})
	return intake.Join(parts, func(a, b TagStats) int {
		if c := cmp.Compare(a.Publisher.Instance, b.Publisher.Instance); c != 0 {
			return c
		}
		return cmp.Compare(a.Config.Policy.String(), b.Config.Policy.String())
	}, func(s TagStats) tags.Tag { return s.Tag }), unanswered("tag stats", err)
}

// knownTag is a tag of a receivedPart.
type knownTag = tagmap.Entry[intake.Tag[target, gap]]

// receivedPart is what was received of one lane of a publisher.
type receivedPart = intake.Part[*source]

func intakeOf(src *source) *intake.Intake[target, gap] { return &src.in.Intake }

// met returns the publishers of which something may have been received. Loop only.
func (s *subscriberImpl) met() []*source {
	return slices.AppendSeq(slices.Clone(s.past), maps.Values(s.sources))
}

// tagStatsOf returns the counters of a tag. some is false if nothing was published.
func tagStatsOf(at receivedPart, cfg SubscriptionConfig, e *knownTag) (stats TagStats, some bool) {
	tally := &e.Value.Tally
	published := tally.Position - tally.Unwanted
	lost := tally.Lost()
	return TagStats{
		Publisher: at.Of.contact.Peer, Since: at.Of.met, Tag: e.Tag, Config: cfg,
		Position: tally.Position, Published: published, Delivered: tally.Delivered, Losses: lossesOf(&lost),
		Overflowed: lost[ledger.Queue],
	}, published > 0
}
