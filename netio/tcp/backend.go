package tcp

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/reactor"
)

const (
	// turnBytes is what the endpoints together send and receive at the end of
	// a turn before the loop looks for events again.
	turnBytes = 8 << 20

	// trimEvery is how long memory stays that nobody has needed.
	trimEvery = 2 * time.Second

	// endCheck is how often a waiting Close makes sure that the loop still
	// runs.
	endCheck = 50 * time.Millisecond
)

// Opener returns an opener of TCP backends on loop, which need not run yet. A
// backend is closed before its loop is.
//
// The errors of the opener: those of Config.Validate; the system's if a
// descriptor cannot be made, EMFILE for instance. It takes two descriptors.
func Opener(loop *reactor.EventLoop, cfg Config) netio.Opener {
	return func(h netio.Handler) (netio.Backend, error) {
		if err := cfg.Validate(); err != nil {
			return nil, err
		}
		cfg := cfg.withDefaults() // the opener may be used by several goroutines
		if cfg.Mode == netio.ModeRDMA {
			cfg.Logger.Warn("tcp: the mode RDMA was asked for; this backend uses TCP")
		}
		return open(loop, cfg, h)
	}
}

// backend implements netio.Backend.
//
// Everything happens in a step: an event of a socket, the end of the loop's
// turn (PrepareWait), or a time (alarms.ring). Each takes turn first. It is
// always free but when Close finds that the loop does not run, and takes the
// part of the loop.
type backend struct {
	loop    *reactor.EventLoop
	config  Config
	handler netio.Handler
	memory  memory
	stats   counters
	list    worklist
	tell    func()        // posted to the loop to get its turn to an end
	done    chan struct{} // closed after the last callback

	mu        sync.Mutex
	closed    bool
	listening map[netip.AddrPort]struct{}
	active    map[netip.AddrPort]struct{} // open or being opened

	turn sync.Mutex

	// Only in a step.
	finished  bool
	prepare   *reactor.Registration
	alarms    alarms
	trimming  alarm
	scratch   scratch
	sender    sender
	keys      []netio.Key // memory for OnConnectionClosed
	moved     int         // bytes sent and received since the turn began
	endpoints endpointList
	accepted  int // of them
	listeners []*listenEndpoint
	spare     int // a descriptor to give up when there is no other; -1: none

	shared  *sharedSend  // nil: each endpoint has its own send buffers
	receive *receivePool // nil: each endpoint or listen endpoint may have its own
}

func open(loop *reactor.EventLoop, cfg Config, h netio.Handler) (netio.Backend, error) {
	b := &backend{
		loop:      loop,
		config:    cfg,
		handler:   h,
		tell:      func() {},
		done:      make(chan struct{}),
		listening: make(map[netip.AddrPort]struct{}),
		active:    make(map[netip.AddrPort]struct{}),
	}
	b.trimming.f = b.trim
	var err error
	if b.scratch.block, err = b.memory.get(scratchBytes); err != nil {
		return nil, err
	}
	if b.shared, err = newSharedSend(b, cfg.SharedSend); err != nil {
		b.freeMemory()
		return nil, err
	}
	if b.receive, err = newSharedReceive(b); err != nil {
		b.freeMemory()
		return nil, err
	}
	if b.spare, err = openSpare(); err != nil {
		b.freeMemory()
		return nil, fmt.Errorf("tcp: open a spare descriptor: %w", err)
	}
	if b.alarms.timer, err = b.Loop().NewTimer(b.ring); err != nil {
		b.freeMemory()
		return nil, errors.Join(err, unix.Close(b.spare))
	}
	if b.prepare, err = loop.AddPrepare(b); err != nil {
		b.freeMemory()
		return nil, errors.Join(err, b.alarms.timer.Close(), unix.Close(b.spare))
	}
	return b, nil
}

// freeMemory gives all memory back that nobody holds.
func (b *backend) freeMemory() {
	b.memory.put(b.scratch.block)
	b.memory.close()
	if b.shared != nil {
		b.shared.pool.Retire()
	}
	if b.receive != nil {
		b.receive.retire()
	}
}

func openSpare() (int, error) { return unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0) }

// Name implements netio.Backend and reactor.Named.
func (b *backend) Name() string { return "tcp" }

// Loop implements netio.Backend.
func (b *backend) Loop() netio.Loop { return eventLoop{b.loop} }

// Stats implements netio.Backend.
func (b *backend) Stats() netio.Stats { return b.stats.load() }

// enqueue has w work at the end of the loop's turn. Threads: any.
func (b *backend) enqueue(w worker) {
	if b.list.put(w) {
		b.loop.Post(b.tell) // false if the loop has ended: Close will do it
	}
}

// PrepareWait implements reactor.PrepareWaiter: it is the end of a turn.
func (b *backend) PrepareWait() (sleep bool) {
	b.turn.Lock()
	defer b.turn.Unlock()
	if b.finished {
		return true
	}
	if b.memory.returned.Load() {
		b.trimLater()
	}
	through := false
	defer func() {
		if !through { // a callback panicked
			b.goOn()
		}
	}()
	// A loop that ends has no other turn to give: then this one goes on. What
	// callbacks add without end, Close does.
	for range lastTurns {
		b.list.refill()
		b.moved = 0
		for b.list.left() > 0 && b.moved < turnBytes {
			b.list.take().work()
		}
		if b.finished || b.goOn() {
			break
		}
	}
	through = true
	return true
}

// lastTurns bounds the work of a loop that has been stopped.
const lastTurns = 64

// goOn gets another turn for what is left of the work, and for what came while
// a turn did only what was left of an earlier one: it was told of that already.
// It returns false if there is work and the loop has no other turn.
func (b *backend) goOn() bool {
	if b.list.left() == 0 && !b.list.waiting() {
		return true
	}
	return b.loop.Post(b.tell)
}

// ring is called by the timer.
func (b *backend) ring() {
	b.turn.Lock()
	defer b.turn.Unlock()
	if !b.finished {
		b.alarms.ring()
	}
}

// trimLater has memory that is not needed released in a while.
func (b *backend) trimLater() {
	if b.trimming.place == 0 {
		b.alarms.set(&b.trimming, trimEvery)
	}
}

func (b *backend) trim() {
	b.memory.trim()
}

// Close implements netio.Backend.
func (b *backend) Close() error {
	onLoop := b.loop.OnLoop()
	b.mu.Lock()
	first := !b.closed
	b.closed = true
	if first {
		// Behind all that was accepted before.
		b.enqueue((*closing)(b))
	}
	b.mu.Unlock()
	if onLoop { // a callback cannot wait for itself
		return nil
	}
	for {
		if !b.loop.Running() {
			b.loop.OnBehalf(b.closeApart)
		}
		select {
		case <-b.done:
			return nil
		case <-time.After(endCheck): // the loop may end meanwhile
		}
	}
}

// closeApart does what the loop would do, on the goroutine of Close, if the
// loop does not run.
func (b *backend) closeApart() {
	b.turn.Lock()
	defer b.turn.Unlock()
	for !b.finished {
		b.list.refill()
		if b.list.left() == 0 {
			b.list.put((*closing)(b)) // a panic has ended the loop in the middle of it
			continue
		}
		b.list.take().work()
	}
}

// closing is the work that Close leaves to the loop.
type closing backend

func (c *closing) work() {
	b := (*backend)(c)
	if b.finished {
		return
	}
	// What is left after a panic of a callback is done in the next turn.
	through := false
	defer func() {
		if !through {
			b.enqueue(c)
		}
	}()
	for _, l := range b.listeners {
		l.shut()
	}
	b.listeners = nil
	for e := b.endpoints.first; e != nil; e = b.endpoints.first {
		e.end(nil)
	}
	b.finished = true
	_ = b.prepare.Close()
	_ = b.alarms.timer.Close()
	if b.spare >= 0 {
		_ = unix.Close(b.spare)
	}
	b.freeMemory()
	through = true
	close(b.done)
}
