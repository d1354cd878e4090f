package bus

import (
	"sync"
	"sync/atomic"
	"time"

	"tagbus/bus/internal/cache"
	"tagbus/bus/internal/tagmap"
	"tagbus/internal/alarm"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// fanout is the way of messages from Publish to the outboxes: which subscribers get a
// message, and whether all of them have room for it. It knows tags, routes, streams,
// pages and lanes, and nothing of a session.
type fanout struct {
	cfg    fanoutConfig
	loop   netio.Loop
	call   func(func())   // calls a function of the user, unless the publisher has ended
	first  func(tags.Tag) // hears of the first message of a tag; mu is held
	alarms *alarm.Clock

	pool       *netio.Pool
	users      atomic.Int32 // of the pool: connections, and the publisher
	pages      []page       // by the key of their first buffer
	pageBytes  int
	queuePages int64
	lossyPages int64       // what all lossy lanes together may pin
	window     int         // bytes in flight per subscriber
	regionOnly atomic.Bool // the transport sends only from memory of the pool

	tags      tagmap.Map[tagState]
	knownTags atomic.Int64
	cache     *cache.Cache // nil without
	unowned   error        // publishing returns it for a tag that no lane wants; nil: the message is dropped

	openMu      sync.Mutex      // taken under stream.mu, to reserve room for pages
	taken       []*netio.Buffer // memory for that
	lossyPinned atomic.Int64    // pages, counted for each lossy lane
	waiting     waiters
	loans       loans
	wantReady   atomic.Bool
	readyFunc   func()      // onReady, as a value made once
	dry         atomic.Bool // a publisher found the pool empty, and was told of no room since

	mu       sync.Mutex // topology: everything in this block
	stopped  bool       // no message is accepted any more
	table    subscription.Table
	served   tags.Set
	removed  int  // known tags that are not served any more
	growing  bool // tags is, and the loop is going to finish that
	lanes    map[subscription.LaneID]*lane
	freeIDs  []subscription.LaneID
	routes   routes
	known    []*tagmap.Entry[tagState] // all of tags, the oldest first
	changed  chan struct{}             // closed and replaced when a subscription changes
	streams  atomic.Pointer[[]*stream] // written under mu
	changing map[*lane]struct{}        // those that have a transit
	shifts   []shift                   // memory for shift
	locked   []*stream                 // by lockAll
	locking  uint64                    // rounds of lockAll
	walked   uint64                    // steps of walks so far

	flushArmed atomic.Bool
	flushTimer netio.Timer // not an alarm, which only the loop sets: it would wake once more for each page
	flushFunc  func()      // flushDue, as a value made once
	tellArmed  atomic.Bool
	tellFunc   func()      // tellLater, as a value made once
	telling    alarm.Alarm // loop only

	published atomic.Uint64 // of streams that are gone
	bytes     atomic.Uint64 // of these
	replayed  atomic.Uint64
	refusals  atomic.Uint64
}

// fanoutConfig is the part of a PublisherConfig that concerns the way of messages.
type fanoutConfig struct {
	MaxMessageBytes, MaxStreams int
	FlushInterval, MaxStall     time.Duration
	OnReady                     func()
}

// start makes fan ready to publish the tags of a configuration.
//
//   - kept: the cache, or nil.
func (fan *fanout) start(cfg *PublisherConfig, pool *netio.Pool, kept *cache.Cache) {
	fan.cfg = fanoutConfig{cfg.MaxMessageBytes, cfg.MaxStreams, cfg.FlushInterval, cfg.MaxStall, cfg.OnReady}
	fan.served, fan.pool, fan.cache = cfg.Tags, pool, kept
	fan.pages = make([]page, pool.Buffers())
	for i := range fan.pages {
		fan.pages[i].key = netio.Key(i)
	}
	fan.pageBytes = cfg.PageBytes
	fan.queuePages = int64(cfg.QueueBytes / cfg.PageBytes)
	fan.lossyPages = int64(pool.Buffers() / 2)
	fan.window = maxInFlightPages * cfg.PageBytes
	fan.lanes = make(map[subscription.LaneID]*lane)
	fan.changing = make(map[*lane]struct{})
	fan.changed = make(chan struct{})
	fan.flushFunc, fan.readyFunc = fan.flushDue, fan.onReady
	fan.tellFunc, fan.telling.F = fan.tellLater, fan.tellDue
	fan.loans.tell = func() { fan.call(fan.loans.settle) }
	fan.users.Store(1)
	fan.streams.Store(new([]*stream))
}

// tagState is what the publisher knows of one tag. count, and what the cache has
// in the line, are guarded by the mutexes of the streams of the tag's route.
type tagState struct {
	route   atomic.Pointer[route]
	count   uint64
	line    uint32 // of the cache
	removed bool   // by RemoveTags; guarded as count is
	moving  bool   // to another route; fanout.mu
}
