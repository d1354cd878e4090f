// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"tagbus/bus/internal/announce"
	"tagbus/bus/internal/intake"
	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/snapshot"
	"tagbus/bus/internal/tagmap"
	"tagbus/bus/internal/workqueue"
	"tagbus/subscription"
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
	publishers                                       atomic.Int64
	byBackend                                        snapshot.Backends // of publishers
	messages, bytes, pages, unwanted, panics, silent atomic.Uint64
	broken                                           snapshot.Endings
	superseded                                       atomic.Uint64 // in full queues, with the policy Latest
	lost                                             [subscription.AllCauses]atomic.Uint64
	trouble                                          announce.Trouble // of the entry
}

// connected notes a connection that begins, 1, or ends, -1.
func (c *subscriberCounters) connected(p *Peer, n int) {
	c.publishers.Add(int64(n))
	c.byBackend.Add(p.Backend, n)
}

// Stats returns the subscriber's counters, correct to the page.
func (handle *Subscriber) Stats() SubscriberStats {
	s := subscriberOf(handle)
	c := &s.counters
	var lost ledger.Counts
	for cause := range lost {
		lost[cause] = c.lost[cause].Load()
	}
	losses := lossesOf(&lost)
	retained, retainedBytes, retainRefused := s.retainer.Stats()
	return SubscriberStats{
		Publishers: int(c.publishers.Load()), Messages: c.messages.Load(), Bytes: c.bytes.Load(), Pages: c.pages.Load(),
		Lost: losses.Lost(), LeftOut: losses.LeftOut, Unwanted: c.unwanted.Load(), Panics: c.panics.Load(), Silent: c.silent.Load(),
		Retained: retained, RetainedBytes: retainedBytes, RetainRefused: retainRefused,
		NotAllowed: s.door.Told(), ByBackend: backendCounts(&c.byBackend),
		Losses: losses, Overflowed: lost[ledger.Queue] + c.superseded.Load(), Broken: c.broken.All(), OwnStalls: c.broken.Own(), EntryFailing: c.trouble.Failing(),
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
func (handle *Subscriber) Instance() string { return subscriberOf(handle).instance }

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
	parts, err := workqueue.Ask(ctx, s.asked(), func(tell func([][]TagStats)) workqueue.Job { return s.tagStatsJob(ctx, silent, tell) })
	return sortedTagStats(parts), unanswered("tag stats", err)
}

// sortedTagStats joins parts, each of one publisher and one SubscriptionConfig.
func sortedTagStats(parts [][]TagStats) (all []TagStats) {
	type group struct{ instance, policy string }
	byGroup := make(map[group][][]TagStats)
	for _, part := range parts {
		g := group{part[0].Publisher.Instance, part[0].Config.Policy.String()}
		byGroup[g] = append(byGroup[g], part)
	}
	groups := slices.SortedFunc(maps.Keys(byGroup), func(a, b group) int {
		return cmp.Or(cmp.Compare(a.instance, b.instance), cmp.Compare(a.policy, b.policy))
	})
	for _, g := range groups {
		from := len(all)
		for _, part := range byGroup[g] {
			all = append(all, part...)
		}
		slices.SortStableFunc(all[from:], func(a, b TagStats) int { return cmp.Compare(a.Tag, b.Tag) })
	}
	return all
}

// tagStatsJob returns the job that calls tell with the statistics, in any order,
// unless ctx ends. They come in many small parts, each of one lane, because growing a
// large slice takes long. Loop only.
func (s *subscriberImpl) tagStatsJob(ctx context.Context, silent bool, tell func(all [][]TagStats)) workqueue.Job {
	const most = 1024 // of a part
	s.laneMu.Lock()
	configs := slices.Clone(s.laneConfigs)
	s.laneMu.Unlock()
	var all [][]TagStats
	var of receivedPart // the last of all
	return s.walkReceived(ctx, func(at receivedPart, e *knownTag) (steps int) {
		stats, some := tagStatsOf(at, configs[at.Lane], e)
		if !some && (!silent || stats.Position == 0) {
			return 0
		}
		if at != of || len(all[len(all)-1]) == most {
			of, all = at, append(all, nil)
		}
		last := &all[len(all)-1]
		*last = append(*last, stats)
		return intake.StepsPerTag
	}, func() { tell(all) })
}

// knownTag is a tag of a receivedPart.
type knownTag = tagmap.Entry[intake.Tag[target, gap]]

// receivedPart is what was received of one lane of a publisher.
type receivedPart = intake.Part[*source]

// walkReceived returns the job that calls visit for what was received of each tag, and
// then end, unless ctx ends. visit returns the steps that it has taken. Loop only.
func (s *subscriberImpl) walkReceived(ctx context.Context, visit func(receivedPart, *knownTag) (steps int), end func()) workqueue.Job {
	all := slices.AppendSeq(slices.Clone(s.past), maps.Values(s.sources))
	return intake.Walk(ctx, all, func(src *source) *intake.Intake[target, gap] { return &src.in.Intake }, visit, end)
}

// tagStatsOf returns the counters of a tag. some is false if nothing was published.
func tagStatsOf(at receivedPart, cfg SubscriptionConfig, e *knownTag) (stats TagStats, some bool) {
	tally := &e.Value.Tally
	published := tally.Position - tally.Unwanted
	lost := tally.Lost()
	return TagStats{
		Publisher: at.Of.contact.peer, Since: at.Of.met, Tag: e.Tag, Config: cfg,
		Position: tally.Position, Published: published, Delivered: tally.Delivered, Losses: lossesOf(&lost),
		Overflowed: lost[ledger.Queue],
	}, published > 0
}
