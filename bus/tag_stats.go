package bus

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"tagbus/tags"
)

// TagStats is what a subscriber has received of one tag of one publisher, in
// subscriptions of one SubscriptionConfig, since it first met the publisher:
//
//	Published = Delivered + Losses.Lost() + Losses.LeftOut
type TagStats struct {
	Publisher *Peer // as of the newest connection
	Since     time.Time
	Tag       tags.Tag
	Config    SubscriptionConfig

	// Position counts the messages of the tag that the publisher has published,
	// as far as this subscriber has heard.
	Position uint64

	// Published counts those of them that came after an acknowledgement of a
	// subscription to the tag, and before its end.
	Published uint64

	Delivered uint64 // to at least one handler or queue
	Losses    Losses // the rest, by the reason

	// Overflowed counts those that were delivered to a queue and lost there:
	// Subscription.Overflowed. A message that two queues have lost counts twice.
	Overflowed uint64
}

// maxPast is how many publishers that are gone TagStats tells of, beyond those
// that may come back.
const maxPast = 16

// Instance returns the subscriber's id: a nuid, new for every Subscriber.
func (s *Subscriber) Instance() string { return s.instance }

// TagStats returns what was received of each tag, by publisher, policy and tag.
// Tags of which nothing has come and nothing is known to be lost are not
// listed; of the publishers that are gone for good, the last 16 are. Of more than
// a thousand tags it may forget those that no subscription wants any more. A
// publisher counts the same losses for this subscriber: see
// Publisher.TagLosses. While a connection is up the two may differ by what is
// on its way.
//
//   - Errors: ErrClosed; the cause of the end of ctx.
//   - Threads: any. Blocks: until the loop has put it together, some
//     milliseconds for 10,000 tags; on the loop it does that itself.
func (s *Subscriber) TagStats(ctx context.Context) ([]TagStats, error) {
	if s.closed.Load() {
		return nil, ErrClosed
	}
	if s.loop.OnLoop() {
		return s.tagStats(), nil
	}
	result := make(chan []TagStats, 1)
	if !s.loop.Post(func() { result <- s.tagStats() }) {
		return nil, ErrClosed
	}
	select {
	case all := <-result:
		return all, nil
	case <-s.closer.ended:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, fmt.Errorf("bus: tag stats: %w", context.Cause(ctx))
	}
}

// tagStats puts the statistics together. Loop only.
func (s *Subscriber) tagStats() []TagStats {
	s.laneMu.Lock()
	configs := slices.Clone(s.laneConfigs)
	s.laneMu.Unlock()
	var all []TagStats
	for _, src := range s.past {
		all = src.appendTagStats(all, configs)
	}
	for _, src := range s.sources {
		all = src.appendTagStats(all, configs)
	}
	slices.SortStableFunc(all, func(a, b TagStats) int {
		return cmp.Or(cmp.Compare(a.Publisher.Instance, b.Publisher.Instance),
			cmp.Compare(a.Config.Policy.String(), b.Config.Policy.String()), cmp.Compare(a.Tag, b.Tag))
	})
	return all
}

func (src *source) appendTagStats(all []TagStats, configs []SubscriptionConfig) []TagStats {
	for lane, n := range src.lanes {
		n.received.all(func(e *tagEntry[received]) {
			rcv := &e.value
			if published := rcv.count - rcv.unwanted; published > 0 {
				all = append(all, TagStats{
					Publisher: src.peer, Since: src.met, Tag: e.tag, Config: configs[lane],
					Position: rcv.count, Published: published, Delivered: rcv.delivered, Losses: rcv.exportLosses(),
					Overflowed: rcv.overflowed(),
				})
			}
		})
	}
	return all
}

func (rcv *received) exportLosses() (l Losses) {
	if rcv.lost != nil {
		l = rcv.lost.export()
	}
	return l
}

func (rcv *received) overflowed() uint64 {
	if rcv.lost == nil {
		return 0
	}
	return rcv.lost[causeQueue]
}
