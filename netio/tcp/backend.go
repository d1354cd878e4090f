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
		return open(loop, cfg.withDefaults(), h)
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
	apart     bool // Close takes the part of the loop
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
	retired   []*netio.Pool // of closed endpoints, with buffers in use
	spare     int           // a descriptor to give up when there is no other; -1: none
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
	if b.spare, err = openSpare(); err != nil {
		return nil, fmt.Errorf("tcp: open a spare descriptor: %w", err)
	}
	if b.alarms.timer, err = b.Loop().NewTimer(b.ring); err != nil {
		return nil, errors.Join(err, unix.Close(b.spare))
	}
	if b.prepare, err = loop.AddPrepare(b); err != nil {
		return nil, errors.Join(err, b.alarms.timer.Close(), unix.Close(b.spare))
	}
	return b, nil
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
	b.list.refill()
	if b.list.left() == 0 {
		return true
	}
	b.moved = 0
	defer b.goOn() // also after a panic
	for b.list.left() > 0 && b.moved < turnBytes {
		b.list.take().work()
	}
	return true
}

// goOn gets another turn for what is left of the work, and for what came while
// a turn did only what was left of an earlier one: it was told of that already.
func (b *backend) goOn() {
	if b.list.left() > 0 || b.list.waiting() {
		b.loop.Post(b.tell)
	}
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
	b.closeRetired()
	b.memory.trim()
	if len(b.retired) > 0 {
		b.trimLater()
	}
}

// retire closes the pool of an endpoint that has ended, when the user has
// given back the last of its buffers.
func (b *backend) retire(pool *netio.Pool) {
	if pool != nil && pool.Close() != nil {
		b.retired = append(b.retired, pool)
		b.trimLater()
	}
}

func (b *backend) closeRetired() {
	kept := b.retired[:0]
	for _, pool := range b.retired {
		if pool.Close() != nil {
			kept = append(kept, pool)
		}
	}
	clear(b.retired[len(kept):])
	b.retired = kept
}

// Close implements netio.Backend.
func (b *backend) Close() error {
	onLoop := b.loop.OnLoop()
	b.mu.Lock()
	first, apart := !b.closed, b.apart
	b.closed = true
	if first {
		// Behind all that was accepted before.
		b.enqueue((*closing)(b))
	}
	b.mu.Unlock()
	// A callback cannot wait for itself. If Close has taken the part of the
	// loop, there is no telling whether this is one.
	if onLoop || apart {
		return nil
	}
	if b.loop.Stats().Running == 0 {
		b.closeApart()
	}
	for {
		select {
		case <-b.done:
			return nil
		case <-time.After(endCheck):
		}
		if !b.loop.Post(b.tell) { // the loop has ended
			b.closeApart()
		}
	}
}

// closeApart does what the loop would do, on the goroutine of Close.
func (b *backend) closeApart() {
	b.mu.Lock()
	b.apart = true
	b.mu.Unlock()
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
	b.closeRetired()
	b.memory.put(b.scratch.block)
	b.memory.close()
	through = true
	close(b.done)
}
