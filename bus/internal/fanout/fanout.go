package fanout

import (
	"errors"
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

const (
	MaxInFlight      = 64      // pages and control messages given to an endpoint
	maxInFlightPages = 4       // of which full pages: more only leaves the processor's cache
	maxControlQueue  = 4 << 20 // bytes of answers queued for one subscriber
)

// fanoutConfig says how a Fanout works. All fields are set, except those for which nil
// or zero is allowed.
type Config struct {
	Served          tags.Set     // the tags that may be published at first
	Pool            *netio.Pool  // the memory of the pages; Close closes it
	Cache           *cache.Cache // of the newest messages; nil: none. Close closes it.
	PageBytes       int
	QueueBytes      int // that a lane may hold, in whole pages
	MaxMessageBytes int
	MaxStreams      int           // of several lanes
	FlushInterval   time.Duration // below 0: a page goes as soon as a lane is not busy

	OnReady   func()                               // there is room after a refusal; nil: not told
	Unowned   error                                // publishing returns it for a tag that no lane wants; nil: the message is dropped
	First     func(tags.Tag)                       // told of the first message of a tag; Mu is held
	Call      func(func())                         // calls a function of the user, unless the user has closed
	LossError func(cause subscription.Cause) error // for receipts
}

// fanout is the way of messages from Publish to the outboxes: which subscribers get a
// message, and whether all of them have room for it. It knows tags, routes, streams,
// pages and lanes, and nothing of a session.
type Fanout struct {
	cfg    Config
	loop   netio.Loop
	alarms *alarm.Clock

	pool       *netio.Pool
	pages      []page // by the key of their first buffer
	pageBytes  int
	queuePages int64
	lossyPages int64       // what all lossy lanes together may pin
	window     int         // bytes in flight per subscriber
	regionOnly atomic.Bool // the transport sends only from memory of the pool

	tags      tagmap.Map[tagState]
	knownTags atomic.Int64
	cache     *cache.Cache // nil without

	openMu      sync.Mutex      // taken under stream.mu, to reserve room for pages
	taken       []*netio.Buffer // memory for that
	lossyPinned atomic.Int64    // pages, counted for each lossy lane
	waiting     waiters
	loans       loans
	wantReady   atomic.Bool
	readyFunc   func()      // onReady, as a value made once
	dry         atomic.Bool // a publisher found the pool empty, and was told of no room since

	Mu sync.Mutex // topology: everything in this block
	topology

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

// topology is which lane wants which tag. Guarded by fanout.mu.
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
	streams  atomic.Pointer[[]*stream] // written under mu
	changing map[*Lane]struct{}        // those that have a transit
	shifts   []shift                   // memory for shift
	locked   []*stream                 // by lockAll
	locking  uint64                    // rounds of lockAll
	walked   uint64                    // steps of walks so far
}

// init makes fan ready to publish.
func (fan *Fanout) Init(cfg Config) {
	fan.cfg, fan.pool, fan.cache, fan.served = cfg, cfg.Pool, cfg.Cache, cfg.Served
	fan.pages = make([]page, fan.pool.Buffers())
	for i := range fan.pages {
		fan.pages[i].key = netio.Key(i)
	}
	fan.pageBytes = cfg.PageBytes
	fan.queuePages = int64(cfg.QueueBytes / cfg.PageBytes)
	fan.lossyPages = int64(fan.pool.Buffers() / 2)
	fan.window = maxInFlightPages * cfg.PageBytes
	fan.lanes = make(map[subscription.LaneID]*Lane)
	fan.changing = make(map[*Lane]struct{})
	fan.changed = make(chan struct{})
	fan.flushFunc, fan.readyFunc = fan.flushDue, fan.onReady
	fan.tellFunc, fan.telling.F = fan.tellLater, fan.tellDue
	fan.streams.Store(new([]*stream))
}

// start gives fan its loop, on which it flushes pages and tells what was left out.
//
// Errors: those of the loop's timers.
func (fan *Fanout) Start(loop netio.Loop, alarms *alarm.Clock) (err error) {
	fan.loop, fan.alarms = loop, alarms
	fan.loans.loop, fan.loans.tell = loop, func() { fan.cfg.Call(fan.loans.settle) }
	fan.flushTimer, err = loop.NewTimer(fan.flushFunc)
	return err
}

// stop ends publishing: no message is accepted any more, and what is accepted is queued.
// mu is held.
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

// endTimer ends what start began.
func (fan *Fanout) End() error {
	if fan.flushTimer == nil {
		return nil
	}
	return fan.flushTimer.Close()
}

// free gives back lent payloads and closes the pool and the cache. Nothing is queued or
// sent any more.
func (fan *Fanout) Free() error {
	fan.loans.settle()
	if fan.cache != nil {
		fan.cache.Close()
	}
	return fan.pool.Close()
}

// caches reports whether there is a cache.
func (fan *Fanout) HasCache() bool { return fan.cache != nil }

// notifyChanged wakes those that wait for a change of a subscription. mu is held.
func (fan *Fanout) NotifyChanged() {
	close(fan.changed)
	fan.changed = make(chan struct{})
}

// nextChange returns a channel that is closed at the next change of a subscription. mu is
// held.
func (fan *Fanout) NextChange() <-chan struct{} { return fan.changed }

// The errors are returned as they are, not wrapped, since some of them are frequent. A
// user of the bus gets others for them, which say what to do.
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
	ErrLost = errors.New("connection lost")

	// ErrNotHandled is the outcome of a receipt if the peer says so.
	ErrNotHandled = errors.New("not handled")

	// ErrCompletion is a fault of the backend: a send has completed that was not the next
	// one.
	ErrCompletion = errors.New("not the next send")

	// ErrOverflow is a fault of the peer.
	ErrOverflow = errors.New("the subscriber asks faster than it reads the answers")
)
