// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"tagbus/bus/internal/arena"
	"tagbus/bus/internal/cache"
	"tagbus/bus/internal/coarseclock"
	"tagbus/bus/internal/tagmap"
	"tagbus/internal/alarm"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// MaxInFlight is the number of pages and control messages of a connection that are given
// to its endpoint at most.
const MaxInFlight = 64

const (
	maxInFlightPages = 4       // of MaxInFlight, full pages: more only leaves the processor's cache
	maxInPlacePages  = 16      // the same where the peer reads pages in place: it needs some while it is woken
	maxControlQueue  = 4 << 20 // bytes of answers queued for one connection
)

// The errors are returned as they are, not wrapped, since some of them are frequent and
// on the way of messages. The text for people is that of the package's user.
var (
	// ErrNoRoom is returned for a message for which a lossless lane, or the pool, has no
	// room. The same call may succeed later.
	ErrNoRoom = errors.New("no room")

	// ErrStopped is returned after Stop.
	ErrStopped = errors.New("stopped")

	// ErrUnknownTag is returned for a tag that is not served.
	ErrUnknownTag = errors.New("unknown tag")

	// ErrTooLarge is returned for a message above Config.MaxMessageBytes.
	ErrTooLarge = errors.New("too large")

	// ErrLost is the outcome of a receipt if the connection of its message ends.
	ErrLost = errors.New("connection to the receiver lost")

	// ErrNotHandled is the outcome of a receipt if the peer says so.
	ErrNotHandled = errors.New("the receiver's handler has not handled it")

	// ErrCompletion is a fault of the backend: a send has completed that was not the next
	// one. It is wrapped, with the key.
	ErrCompletion = errors.New("completed")

	// ErrOverflow is a fault of the peer.
	ErrOverflow = errors.New("the subscriber asks faster than it reads the answers")
)

// Config says how a Fanout works. All fields are set, except those for which nil or zero
// is allowed.
type Config struct {
	Served          tags.Set      // the tags that may be published at first
	Pool            *netio.Pool   // the memory of the pages; Free closes it
	Cache           *cache.Cache  // of the newest messages; nil: none. Free closes it.
	PageBytes       int           // the size of the buffers of Pool
	QueueBytes      int           // of pages that a lane may hold
	MaxMessageBytes int           // of a payload
	MaxStreams      int           // of several lanes
	FlushInterval   time.Duration // that a message waits at most in a page that is not full; 0: see pace.go

	OnReady   func()                               // there is room after a refusal; runs in Call; nil: not told
	Unowned   error                                // publishing returns it for a tag that no lane wants; nil: the message is dropped
	First     func(tags.Tag)                       // told of the first message of a tag; Mu is held
	Call      func(func())                         // calls a function of the user on the loop, unless the user has closed
	LossError func(cause subscription.Cause) error // the outcome of a receipt whose message a lane loses; called under locks
}

// Fanout is the way of messages from Publish to the outboxes: which lanes get a message,
// and whether all of them have room for it.
//
// Its methods are called in this order: Init; Start, once there is a loop; Stop, which
// ends publishing and may be repeated; End, which closes what Start has opened; and
// Free, once no connection is left. End and Free are needed even if Start has failed or
// was not called.
//
// Threads: publishing methods may be called from any goroutine after Start, and so may
// those that say nothing else.
type Fanout struct {
	cfg    Config
	loop   netio.Loop
	alarms *alarm.Clock

	pool       *netio.Pool
	arena      *arena.Arena // in the pool
	pages      pageList
	lossyBytes int64        // of pages that all lossy lanes together may hold
	lossyMost  int64        // pages that these may hold
	ownOnly    atomic.Int32 // connections whose transport sends only from memory of the pool, or copies all other
	beat       note         // a heartbeat, as it is sent to all
	beatData   [][]byte     // its pieces: one

	// Second tells when messages were accepted. It goes once the user has started it.
	Second coarseclock.Clock

	tags      tagmap.Map[tagState]
	knownTags atomic.Int64
	cache     *cache.Cache // nil without

	openMu      sync.Mutex   // taken under stream.mu, to reserve room for pages
	lossyPinned atomic.Int64 // bytes, counted for each lossy lane
	lossyPages  atomic.Int64 // pages, counted likewise
	waiting     waiters      // for room
	loans       loans
	borrowed    borrowing
	wantReady   atomic.Bool // a message was refused, and no room was announced since
	readyFunc   func()      // onReady, as a value made once
	dry         atomic.Bool // a message was refused for want of memory, and no room was announced since

	Mu sync.Mutex // guards topology, and what the package's user keeps consistent with it
	topology

	due        dueList
	now        func() int64 // nanoseconds
	flushTimer netio.Timer  // not an alarm, which only the loop sets: it would wake once more for each page
	flushFunc  func()       // flushDue, as a value made once
	tellArmed  atomic.Bool
	tellFunc   func()      // tellLater, as a value made once
	telling    alarm.Alarm // loop only

	published atomic.Uint64 // messages, by streams that are gone
	bytes     atomic.Uint64 // of these
	replayed  atomic.Uint64 // messages, for each lane
	refusals  atomic.Uint64
}

// topology is which lane wants which tag. Guarded by Fanout.Mu, except streams, which
// publishing goroutines read.
type topology struct {
	stopped  bool // no message is accepted any more
	table    subscription.Table
	served   tags.Set
	removed  int  // known tags that are not served any more
	growing  bool // tags is, and the loop is going to finish that
	lanes    map[subscription.LaneID]*Lane
	freeIDs  []subscription.LaneID
	routes   routes
	known    []*tagmap.Entry[tagState] // all of tags, the oldest first
	changed  chan struct{}             // closed and replaced when a subscription changes
	streams  atomic.Pointer[[]*stream] // written with Mu held
	changing map[*Lane]struct{}        // those that have a transit
	shifts   []shift                   // memory for shift
	locked   []*stream                 // by lockAll
	locking  uint64                    // rounds of lockAll
	moving   uint64                    // rounds of shift
	leaving  int                       // lanes that are gone and to which routes may lead
	walked   uint64                    // steps of walks so far
}

// Init makes fan a fanout without lanes. It is not copied afterwards.
func (fan *Fanout) Init(cfg Config) {
	fan.cfg, fan.pool, fan.cache, fan.served = cfg, cfg.Pool, cfg.Cache, cfg.Served
	bytes := cfg.Pool.Buffers() * cfg.PageBytes
	fan.arena = arena.New(cfg.Pool, cfg.PageBytes)
	fan.pages.init(cfg.Pool.Buffers(), bytes/pageBytes)
	fan.lossyBytes, fan.lossyMost = int64(bytes/2), int64(max(cfg.Pool.Buffers(), bytes/pageBytes)/2)
	fan.routes.copies = copiesOf(cfg.Pool.Buffers())
	fan.lanes = make(map[subscription.LaneID]*Lane)
	fan.changing = make(map[*Lane]struct{})
	fan.changed = make(chan struct{})
	fan.flushFunc, fan.readyFunc = fan.flushDue, fan.onReady
	fan.tellFunc, fan.telling.F = fan.tellLater, fan.tellDue
	epoch := time.Now().Add(-time.Hour) // so that what has not happened was long ago
	fan.now = func() int64 { return int64(time.Since(epoch)) }
	fan.streams.Store(new([]*stream))
}

// Start gives fan its loop, on which it flushes pages and tells what was left out. No
// message may be published before.
//
//   - alarms: of the same loop, for what is not a page.
//   - Errors: those of loop.NewTimer.
func (fan *Fanout) Start(loop netio.Loop, alarms *alarm.Clock) (err error) {
	if fan.beat.control, err = subscription.Append(nil, &subscription.Beat{}); err != nil {
		return err
	}
	fan.beatData = [][]byte{fan.beat.control}
	fan.loop, fan.alarms = loop, alarms
	fan.loans.loop, fan.loans.tell = loop, func() { fan.cfg.Call(fan.loans.settle) }
	fan.flushTimer, err = loop.NewTimer(fan.flushFunc)
	return err
}

// Stop ends publishing: no message is accepted any more, and what was accepted is
// queued. Callers of AwaitRoom try once more. Mu is held.
func (fan *Fanout) Stop() {
	fan.stopped = true
	for _, s := range *fan.streams.Load() {
		s.mu.Lock()
		s.closed = true
		s.sealAll()
		s.mu.Unlock()
	}
	fan.NotifyChanged()
	fan.waiting.wake()
}

// End closes what Start has opened. Pages are not flushed by time any more.
//
// Errors: those of the timer.
func (fan *Fanout) End() error {
	if fan.flushTimer == nil {
		return nil
	}
	return fan.flushTimer.Close()
}

// Free gives back lent payloads and closes the pool and the cache. Nothing is queued or
// sent any more. Memory that users have borrowed is theirs until they end their loans.
//
// Errors: those of netio.Pool.Close.
func (fan *Fanout) Free() error {
	fan.loans.settle()
	if fan.cache != nil {
		fan.cache.Close()
	}
	if fan.borrowed.held.Load() > 0 {
		fan.pool.Retire()
		return nil
	}
	return fan.pool.Close()
}

// HasCache reports whether there is a cache.
func (fan *Fanout) HasCache() bool { return fan.cache != nil }
