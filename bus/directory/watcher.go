package directory

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"
)

// mergeEvents is the length of a watcher's queue from which on events of one
// instance are merged. It only has to be longer than the bursts of a healthy
// bus: merging keeps a watcher that hangs from holding all history in memory.
const mergeEvents = 1024

// watcher delivers queued events to one notify function on one goroutine.
type watcher struct {
	notify    func(Event)
	wake      chan struct{} // holds one token when the queue may have become non-empty
	quit      chan struct{} // closed by the first stop
	quitOnce  sync.Once
	done      chan struct{} // closed when the goroutine has ended
	goroutine atomic.Pointer[[]byte]

	mu      sync.Mutex
	queue   []queued
	mergeAt int // queue length at which to merge next
}

// queued is an event with the instance or the other source that it is about.
type queued struct {
	source string
	event  Event
}

func newWatcher(notify func(Event)) *watcher {
	return &watcher{
		notify:  notify,
		wake:    make(chan struct{}, 1),
		quit:    make(chan struct{}),
		done:    make(chan struct{}),
		mergeAt: mergeEvents,
	}
}

// push queues an event. Threads: any. Blocks: never.
func (w *watcher) push(source string, event Event) {
	w.mu.Lock()
	w.queue = append(w.queue, queued{source, event})
	if len(w.queue) >= w.mergeAt {
		w.queue = merged(w.queue)
		w.mergeAt = max(mergeEvents, 2*len(w.queue))
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run calls notify until the watcher is stopped.
func (w *watcher) run() {
	defer close(w.done)
	id := goroutineID()
	w.goroutine.Store(&id)
	for {
		select {
		case <-w.quit:
			return
		case <-w.wake:
		}
		for event, ok := w.pop(); ok; event, ok = w.pop() {
			w.notify(event)
		}
	}
}

// pop takes the first event; there is none once the watcher is stopped.
func (w *watcher) pop() (Event, bool) {
	select {
	case <-w.quit:
		return Event{}, false
	default:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		w.queue = nil // lets go of the array, whose head the slice no longer shows
		w.mergeAt = mergeEvents
		return Event{}, false
	}
	event := w.queue[0].event
	w.queue[0] = queued{}
	w.queue = w.queue[1:]
	return event, true
}

// stop ends the goroutine and waits for it, unless it is the caller: a notify
// function may close whatever watches, and must not then wait for itself.
func (w *watcher) stop() {
	w.end()
	if !w.isCaller() {
		<-w.done
	}
}

// end makes the call of notify that may run the last one.
func (w *watcher) end() { w.quitOnce.Do(func() { close(w.quit) }) }

// isCaller reports whether it is called from within notify.
func (w *watcher) isCaller() bool {
	id := w.goroutine.Load()
	return id != nil && bytes.Equal(*id, goroutineID())
}

// goroutineID returns the number of the calling goroutine as text. The runtime
// tells it nowhere but in the first line of a stack trace, "goroutine 7 [...",
// whose form net/http relies on too. It serves only to recognise a call from
// within notify.
func goroutineID() []byte {
	var buffer [64]byte
	trace := bytes.TrimPrefix(buffer[:runtime.Stack(buffer[:], false)], []byte("goroutine "))
	id, _, _ := bytes.Cut(trace, []byte(" "))
	return bytes.Clone(id)
}

// merged returns the shortest queue that tells a watcher the same in the end:
// for each instance at most one event, and for each problem its last text.
func merged(queue []queued) []queued {
	type state struct {
		existed, exists bool   // before the first and after the last event of the queue
		last            int    // index of the last event but problems
		problem         *Event // last problem
	}
	states := make(map[string]*state)
	for i, q := range queue {
		s := states[q.source]
		if s == nil {
			s = &state{last: -1}
			states[q.source] = s
		}
		if q.event.Kind == Problem {
			s.problem = &queue[i].event
			continue
		}
		if s.last < 0 {
			s.existed = q.event.Kind != Appeared
		}
		s.exists = q.event.Kind != Gone
		s.last = i
	}
	var result []queued
	for i, q := range queue {
		s := states[q.source]
		switch {
		case s.last == i && (s.existed || s.exists):
			if q.event.Kind = Changed; !s.existed {
				q.event.Kind = Appeared
			} else if !s.exists {
				q.event.Kind = Gone
			}
			result = append(result, q)
		case s.problem == &queue[i].event:
			result = append(result, q)
		}
	}
	return result
}
