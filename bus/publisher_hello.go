package bus

import (
	"time"

	"tagbus/netio"
)

// helloDeadlines finds the accepted connections whose peer does not say hello
// in time. One coarse timer serves all, and runs only while somebody is awaited.
// Loop only.
type helloDeadlines struct {
	timeout time.Duration
	expired func(netio.Endpoint)
	timer   netio.Timer
	tick    int
	waiting map[netio.Endpoint]int // the tick at which patience ends
}

// helloTicks is how many ticks of the timer make a HelloTimeout.
const helloTicks = 4

func (h *helloDeadlines) start(loop netio.Loop, timeout time.Duration, expired func(netio.Endpoint)) (err error) {
	h.timeout, h.expired, h.waiting = timeout, expired, make(map[netio.Endpoint]int)
	h.timer, err = loop.NewTimer(h.expire)
	return err
}

// add begins to wait. After an error, nobody may wait.
func (h *helloDeadlines) add(ep netio.Endpoint) error {
	h.waiting[ep] = h.tick + helloTicks + 1 // the first tick may be near
	if len(h.waiting) > 1 {
		return nil
	}
	return h.timer.Start(max(time.Millisecond, h.timeout/helloTicks))
}

// await is add, unless ep is waited for already: its patience does not begin again.
// What cannot be waited for is not.
func (h *helloDeadlines) await(ep netio.Endpoint) {
	if _, already := h.waiting[ep]; !already {
		_ = h.add(ep) // only the end of the loop refuses a timer
	}
}

func (h *helloDeadlines) remove(ep netio.Endpoint) {
	if _, known := h.waiting[ep]; !known {
		return
	}
	delete(h.waiting, ep)
	if len(h.waiting) == 0 {
		h.timer.Stop()
	}
}

func (h *helloDeadlines) expire() {
	h.tick++
	for ep, end := range h.waiting {
		if h.tick >= end {
			h.remove(ep)
			h.expired(ep)
		}
	}
}

func (h *helloDeadlines) close() {
	if h.timer != nil {
		_ = h.timer.Close()
	}
}
