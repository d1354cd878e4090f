// SPDX-License-Identifier: Apache-2.0

// Package observer asks publishers and receivers for their state, over the bus.
//
// An [Observer] dials what the directory lists, on the port on which it listens, and asks
// what it knows of itself and of its peers. It is no subscriber: it gets no message, and
// takes no subscriber's place. Publishers know their subscribers, so that asking all entries of
// a directory shows the whole bus.
package observer

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nuid"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/internal/closer"
	"tagbus/bus/internal/dialer"
	"tagbus/bus/internal/ways"
	"tagbus/bus/state"
	"tagbus/internal/alarm"
	"tagbus/netio"
	"tagbus/subscription"
)

// The defaults of Config.
const (
	DefaultTimeout        = 5 * time.Second
	DefaultMaxConnections = 4096
)

// Config says how an observer works. The zero value is good.
type Config struct {
	Name string // for operators; may be empty; cut after 255 bytes

	// Timeout is how long dialing, the hello and an answer may take together. Default 5 s.
	Timeout time.Duration

	// MaxConnections is how many connections are kept between questions. Default 4,096. The
	// one that is idle for longest is closed for another one, and a question waits while all
	// are in use.
	MaxConnections int
}

// Observer asks for states. Close it.
//
// Threads: any.
type Observer struct {
	cfg     Config
	open    netio.Opener
	host    string // of this side, as it calls itself
	hello   []byte // of this side
	backend netio.Backend
	ours    ways.Backends // of which it consists
	loop    netio.Loop
	closer  *closer.Closer
	closing chan struct{} // closed when Close begins
	lastID  atomic.Uint64 // of questions

	mu       sync.Mutex
	greeting *greeter // opened by the first Greet

	// Loop only.
	alarms  alarm.Clock
	dialer  dialer.Dialer
	peers   map[string]*peer        // by instance
	taken   map[dialer.Target]*peer // addresses with a connection, or one that is being opened
	blocked map[dialer.Target][]*peer
	idle    list.List // of *peer: those whose connections are kept, for the longest time first
	placed  int       // peers that have a connection, or are being dialed
	queue   []*peer   // that wait for a place
}

// New opens an observer.
//
//   - open: the transport, for example tcp.Opener(loop, tcp.Config{}).
//   - Errors: those of the backend.
func New(open netio.Opener, cfg Config) (*Observer, error) {
	cfg.Timeout = cmp.Or(max(cfg.Timeout, 0), DefaultTimeout)
	cfg.MaxConnections = cmp.Or(max(cfg.MaxConnections, 0), DefaultMaxConnections)
	o := &Observer{
		cfg: cfg, open: open, closer: closer.New(), closing: make(chan struct{}),
		peers: make(map[string]*peer), taken: make(map[dialer.Target]*peer), blocked: make(map[dialer.Target][]*peer),
	}
	o.host, _ = os.Hostname() // only for people
	var err error
	if o.hello, err = helloOf(cfg.Name, o.host); err != nil {
		return nil, err
	}
	if o.backend, err = open(handler{o}); err != nil {
		return nil, err
	}
	o.ours, o.loop = ways.Of(o.backend), o.backend.Loop()
	// No try follows another by itself, so the delays mean nothing.
	o.dialer = dialer.NewDialer(&o.alarms, cfg.Timeout, cfg.Timeout, cfg.Timeout, o.ours)
	if err = alarm.Open(&o.alarms, o.loop.NewTimer); err != nil {
		return nil, errors.Join(err, o.backend.Close())
	}
	return o, nil
}

// helloOf returns the hello of an observer. It expects no instance, so that the answer says
// which one is there.
func helloOf(name, host string) ([]byte, error) {
	return subscription.AppendHello(nil, subscription.Hello{
		Instance: nuid.Next(), Role: subscription.RoleObserver,
		Name: name[:min(len(name), subscription.MaxTextBytes)], Host: host[:min(len(host), subscription.MaxTextBytes)],
		PID: os.Getpid(), MaxMessageBytes: subscription.MaxControlBytes,
	})
}

// Ask returns the state of the instance of an entry. Its connection is kept for the next
// question. Questions to one instance are asked one after another.
//
//   - e: which is dialed at its addresses, of one backend, and has to be the instance that answers.
//   - Errors: *bus.BackendError if this program does not speak its backend; *netio.OpError
//     if it cannot be reached, in a *bus.LoopbackError if no other host can do so;
//     bus.ErrStaleEntry, wrapped, if another instance answers; ErrDenied and ErrNotObservable, wrapped with
//     its reason, if it refuses to be observed; ErrRefused, wrapped with its reason, if it
//     refuses the question; ErrTooManyTags; bus.ErrProtocol, wrapped, and *VersionError for
//     an answer that cannot be read; ErrLost; ErrTimeout, wrapped; ErrClosed; bus.ErrOnLoop;
//     the cause of the end of ctx.
//   - Blocks: until the answer is there. Not on a loop.
func (o *Observer) Ask(ctx context.Context, e directory.Entry, q state.Question) (state.State, error) {
	asked, err := o.prepare(ctx, e, q)
	if err != nil {
		return state.State{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.cfg.Timeout, ErrTimeout)
	defer cancel()
	if !o.loop.Post(func() { o.ask(asked) }) {
		return state.State{}, ErrClosed
	}
	select {
	case a := <-asked.result:
		if a.err != nil {
			return state.State{}, a.err
		}
		return asked.decode(a.parts)
	case <-ctx.Done():
		o.loop.Post(func() { o.giveUp(asked) })
		return state.State{}, asked.late(context.Cause(ctx), o.cfg.Timeout)
	case <-o.closing:
		return state.State{}, ErrClosed
	}
}

// prepare returns a question that may be asked.
func (o *Observer) prepare(ctx context.Context, e directory.Entry, q state.Question) (*question, error) {
	if err := o.usable(ctx, e); err != nil {
		return nil, err
	}
	return newQuestion(o.lastID.Add(1), e, q)
}

// usable returns why an entry cannot be dialed by this call, or nil.
func (o *Observer) usable(ctx context.Context, e directory.Entry) error {
	switch {
	case o.closer.Begun():
		return ErrClosed
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case o.ours.Sole(e) == nil:
		return &bus.BackendError{Role: e.Role, Theirs: ways.Text(e), Ours: o.ours.Names()}
	case o.loop.OnAnyLoop():
		return bus.ErrOnLoop
	}
	return nil
}

// Close ends the observer, its connections and the questions under way. The second call
// does nothing.
//
//   - Errors: those of the backend.
//   - Blocks: until the last callback has run; inside a callback, of any node, it returns at
//     once.
func (o *Observer) Close() error {
	return o.closer.Close(o.backend, func() (later bool, err error) {
		close(o.closing)
		o.mu.Lock()
		g := o.greeting
		o.mu.Unlock()
		if g != nil {
			err = g.backend.Close()
		}
		return false, errors.Join(err, o.alarms.Close(), o.backend.Close())
	})
}
