package bus

import (
	"time"

	"tagbus/netio"
)

// helloDeadlines closes connections whose peer does not say hello in time.
// One coarse timer serves all, and runs only while somebody is awaited.
type helloDeadlines struct {
	pub     *Publisher
	timer   netio.Timer
	tick    int
	waiting map[*link]struct{}
}

// helloTicks is how many ticks of the timer make a HelloTimeout.
const helloTicks = 4

func (h *helloDeadlines) start(p *Publisher) (err error) {
	h.pub, h.waiting = p, make(map[*link]struct{})
	h.timer, err = p.loop.NewTimer(h.expire)
	return err
}

func (h *helloDeadlines) add(l *link) {
	l.helloTick = h.tick + helloTicks + 1 // the first tick may be near
	h.waiting[l] = struct{}{}
	if len(h.waiting) > 1 {
		return
	}
	if err := h.timer.Start(max(time.Millisecond, h.pub.cfg.HelloTimeout/helloTicks)); err != nil {
		l.fail(err) // without a timer nobody may wait
	}
}

func (h *helloDeadlines) remove(l *link) {
	delete(h.waiting, l)
	if len(h.waiting) == 0 {
		h.timer.Stop()
	}
}

func (h *helloDeadlines) expire() {
	h.tick++
	for l := range h.waiting {
		if h.tick >= l.helloTick {
			h.remove(l)
			h.pub.event(Event{Kind: Refused, Peer: l.peer, Err: ErrHelloTimeout})
			_ = l.ep.Close()
		}
	}
}

func (h *helloDeadlines) close() {
	if h.timer != nil {
		_ = h.timer.Close()
	}
}
