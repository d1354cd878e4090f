// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"tagbus/acl"
	"tagbus/bus/directory"
	"tagbus/bus/internal/admission"
	"tagbus/bus/internal/ending"
	"tagbus/bus/internal/fanout"
	"tagbus/bus/internal/group"
	"tagbus/bus/internal/heartbeat"
	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/reception"
	"tagbus/bus/internal/snapshot"
	"tagbus/bus/internal/stall"
	"tagbus/bus/internal/toptags"
	"tagbus/bus/internal/workqueue"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// Publisher publishes messages by tag to every subscriber that wants them.
//
// Publish copies a message into a page and returns. Tags with the same subscribers
// share a page. A full or due page is sent to all of them by reference. Its memory is
// free again once the last connection has sent it.
//
// Threads: all methods may be called from any goroutine, and from callbacks
// unless they block.
type Publisher struct {
	is any // a *publisherImpl
}

// publisherOf returns what a Publisher is. A compiler that sees a pointer to it follows that to
// all that is reachable, and compiles the methods of each generic type there, 1,500 of them, in
// each package that imports this one: 2.5 s of a processor for ten lines of Go (adr/0037).
// It sees none behind an interface, nor in what it does not inline.
func publisherOf(handle *Publisher) *publisherImpl { return handle.is.(*publisherImpl) }

// publisherImpl is what a Publisher is.
type publisherImpl struct {
	Publisher // as its user has it

	side
	cfg        PublisherConfig
	fan        fanout.Fanout // its Mu guards what is marked so here
	pool       *netio.Pool
	maxRemoved int        // tags that it remembers
	ownership  ownership  // of tags
	action     acl.Action // of those that may come in
	announcing sync.Mutex // around changes of fan.served and of the tags of the entry; before fan.Mu

	// Guarded by fan.Mu.
	links        map[*link]struct{} // of subscribers that are admitted
	accounts     ledger.Book[*link, member]
	minPagesFree snapshot.Lowest
	ending       *ending.Ending[*link, member]

	// Loop only.
	connections map[*link]struct{}          // all, also those that are not admitted
	newest      admission.Succession[*link] // of the subscribers that have dialed
	groups      group.Groups[*link]
	seats       admission.Seats[*link] // of subscribers that have not been told to give way
	turns       workqueue.Turns        // of the tasks of links
	failure     error                  // why the publisher ends, for its subscribers; nil if it has not failed

	limits  stall.Limits
	stalled atomic.Uint64  // connections
	watch   *toptags.Watch // over the tags
	users   atomic.Int32   // of the memory: connections, and the publisher
}

// NewPublisher opens a publisher: it listens for subscribers and announces its
// tags in dir. Close it.
//
//   - open: the transport, for example tcp.Opener(loop, tcp.Config{}).
//   - Errors: ErrInvalidConfig, joined violations; *netio.OpError if it cannot listen;
//     those of the directory; *AccessError if its own policy does not let it publish the tags.
//   - Blocks: for the directory's storage.
func NewPublisher(open netio.Opener, dir directory.Directory, cfg PublisherConfig) (*Publisher, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := self(cfg.Access, acl.Publish, cfg.Tags); err != nil {
		return nil, err
	}
	p, err := newPublisher(open, "", func(p *publisherImpl) netio.Handler { return publisherHandler{p} }, cfg.withDefaults(), nil)
	if err != nil {
		return nil, err
	}
	if err = p.start(); err == nil {
		err = p.listen(dir, &p.cfg.Listening, p.params(), directory.Entry{
			Tags: p.cfg.Tags, PageBytes: p.cfg.PageBytes, MaxMessageBytes: p.cfg.MaxMessageBytes, Since: time.Now(),
		})
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return &p.Publisher, nil
}

// newPublisher makes a publisher with its backend and its memory. cfg has its defaults.
//
//   - role: in its hello.
//   - handler: returns what the backend reports to.
//   - unowned: the error for a tag that no connection wants; nil: the message is dropped.
//   - Errors: those of open; as fanout.Memory.Check and Make.
func newPublisher(open netio.Opener, role string, handler func(*publisherImpl) netio.Handler, cfg PublisherConfig, unowned error) (*publisherImpl, error) {
	if err := cfg.memory().Check(); err != nil {
		return nil, err
	}
	p := &publisherImpl{
		cfg:         cfg,
		links:       make(map[*link]struct{}),
		connections: make(map[*link]struct{}),
		ownership:   shared{},
		action:      acl.Subscribe,
	}
	p.is = p
	p.init(&p.cfg.Common, role)
	p.most = subscription.TakesDropped
	p.users.Store(1)
	p.watch = toptags.New(&p.fan)
	p.accounts.Clock = &p.fan.Second
	p.ending = ending.New(&p.accounts, returnTime)
	p.maxRemoved = maxRemovedTags
	p.limits = stall.Limits{MaxStall: cfg.MaxStall, Patience: cfg.HeartbeatTimeout}
	if p.limits.Patience < 0 {
		p.limits.Patience = heartbeat.DefaultTimeout
	}
	p.groups = group.Groups[*link]{Lanes: maxLanes, Bytes: maxGroupsBytes, Evict: p.evictGroup}
	if err := p.open(open, handler(p)); err != nil {
		return nil, err
	}
	// A process that maps the pool can read all of it. Where Access decides what peers may have, each gets
	// its own copy in the memory of its connection.
	pool, cache, err := cfg.memory().Make(p.own.Backends.Shares() && cfg.Access == nil)
	if err != nil {
		return nil, errors.Join(err, p.backend.Close())
	}
	p.pool = pool
	p.fan.Init(fanout.Config{
		Served: cfg.Tags, Pool: pool, Cache: cache,
		PageBytes: cfg.PageBytes, QueueBytes: cfg.QueueBytes, MaxMessageBytes: cfg.MaxMessageBytes,
		MaxStreams: cfg.MaxStreams, FlushInterval: cfg.FlushInterval,
		OnReady: cfg.OnReady, Unowned: unowned,
		First: func(tag tags.Tag) { p.ownership.use(tag) }, Call: p.closer.Call,
		LossError: func(cause subscription.Cause) error { return gapCauses[cause] },
	})
	return p, nil
}

// start begins what a publisher does by itself.
func (p *publisherImpl) start() (err error) {
	p.turns = p.work.Turns()
	p.limited = p.door.Asks() && p.action == acl.Subscribe
	p.receive(reception.Config{Action: p.action, Most: p.cfg.MaxSubscribers, Enter: p.enter, Ended: p.ended, Describe: p.State})
	if err = p.fan.Start(p.loop, &p.alarms); err != nil {
		return err
	}
	if err = p.begin(p.reviewAccess, p.onTick); err == nil {
		p.fan.Second.Start(&p.alarms, p.loop.Post)
	}
	return err
}

// params returns what the connections to subscribers must be able to do.
func (p *publisherImpl) params() netio.Params {
	return netio.Params{
		Receive:  netio.ReceiveParams{MaxMessageBytes: subscription.MaxControlBytes, FirstMessageBytes: subscription.MaxHelloBytes},
		Buffered: netio.BufferedParams{Buffers: controlBuffers, BufferBytes: subscription.MaxControlBytes},
		ZeroCopy: netio.ZeroCopyParams{Outstanding: fanout.MaxInFlight, Region: p.pool.Region()},
	}
}

// Addr returns the address on which the publisher listens, with the real port: the first one of
// the last backend, if it has several.
//
//go:noinline
func (handle *Publisher) Addr() netip.AddrPort { return publisherOf(handle).addr() }

// Instance returns the publisher's id: a nuid, new for every Publisher.
//
//go:noinline
func (handle *Publisher) Instance() string { return publisherOf(handle).own.Instance }

// Tags returns the tags that the publisher serves now.
//
//go:noinline
func (handle *Publisher) Tags() tags.Set {
	p := publisherOf(handle)
	served, _ := p.fan.Served()
	return served
}

// AddTags begins to serve the tags of a set; it may serve some already. A subscriber
// with an acknowledged subscription to the tags gets their messages from the first one
// on. Others find the tags in the directory and subscribe, which WaitSubscribers waits
// for. A tag that was served before and then removed continues at its old position.
//
//   - Errors: ErrTooManyRemoved, ErrEntryTooLarge, *AccessError, the directory's, and ErrClosed:
//     nothing has been added.
//   - Threads: any. Blocks: for the directory's storage.
func (handle *Publisher) AddTags(set tags.Set) error {
	p := publisherOf(handle)
	p.announcing.Lock()
	defer p.announcing.Unlock()
	served, known := p.fan.Served() // what is announced may be more: see RemoveTags
	if known >= p.maxRemoved {
		return fmt.Errorf("%w: %d, limit %d", ErrTooManyRemoved, known, p.maxRemoved)
	}
	if err := errors.Join(checkEntry(served.Union(set)), self(p.cfg.Access, acl.Publish, set)); err != nil {
		return fmt.Errorf("bus: add tags %s: %w", shortSet(set), err)
	}
	if err := p.entry.Extend(served.Union(set)); err != nil {
		return withdrawn(err)
	}
	p.fan.Serve(set)
	return nil
}

// RemoveTags stops serving the tags of a set. When it returns, Publish refuses them
// with ErrUnknownTag. Messages published before are still sent. Every subscriber gets
// the final positions of its tags in the set, so that it knows whether it has
// everything. The cache keeps nothing of these tags. The subscriptions stay: if AddTags
// brings a tag back, its messages go on.
//
//   - Errors: tags.ErrTooComplex or ErrEntryTooLarge, wrapped: nothing is removed.
//     Those of the directory, which may still name the tags. ErrClosed.
//   - Threads: any. Blocks: for the directory's storage.
func (handle *Publisher) RemoveTags(set tags.Set) error {
	p := publisherOf(handle)
	p.announcing.Lock()
	defer p.announcing.Unlock()
	left, err := p.Tags().Without(set)
	if err == nil {
		err = checkEntry(left)
	}
	if err != nil {
		return fmt.Errorf("bus: remove tags %s: %w", shortSet(set), err)
	}
	if err := p.fan.Retire(left, set); err != nil {
		return ErrClosed
	}
	return withdrawn(p.entry.Reduce(left))
}

// withdrawn returns ErrClosed for the error of an entry that is withdrawn: the publisher ends.
func withdrawn(err error) error {
	if errors.Is(err, directory.ErrWithdrawn) {
		return ErrClosed
	}
	return err
}

// WaitSubscribers waits until at least n subscribers have a subscription, and each tag
// of set has a subscriber.
//
//   - set: the tags that are about to be published; often PublisherConfig.Tags.
//   - Errors: ErrClosed; ErrOnLoop; tags.ErrTooComplex, wrapped, when the sets
//     have too many overlapping masks to compare; the cause of the end of ctx.
//   - Threads: any.
func (handle *Publisher) WaitSubscribers(ctx context.Context, n int, set tags.Set) error {
	p := publisherOf(handle)
	err := p.fan.AwaitSubscribed(ctx, n, set, p.mayWait)
	switch {
	case err == nil, errors.Is(err, ErrOnLoop):
		return err
	case errors.Is(err, fanout.ErrStopped):
		return ErrClosed
	case errors.Is(err, tags.ErrTooComplex):
		return fmt.Errorf("bus: wait for %d subscribers of %s: %w", n, shortSet(set), err)
	}
	return fmt.Errorf("bus: wait for %d subscribers: %w", n, err)
}

// mayWait returns ErrOnLoop on a loop, and otherwise nil.
func (p *publisherImpl) mayWait() error {
	if p.loop.OnAnyLoop() {
		return ErrOnLoop
	}
	return nil
}
