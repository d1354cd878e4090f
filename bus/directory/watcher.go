// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"sync"
	"sync/atomic"

	"tagbus/internal/goroutine"
)

// watcher delivers queued events to one notify function, on one goroutine at a time. There
// is one only while there are events: thousands of watchers may wait in a process.
type watcher struct {
	notify func(Event)
	caller atomic.Uint64 // goroutine that calls notify; 0: none

	mu      sync.Mutex
	queue   Backlog
	ended   bool          // notify is not called any more
	running chan struct{} // closed when the goroutine does not call notify any more; nil: there is none
}

func newWatcher(notify func(Event)) *watcher { return &watcher{notify: notify} }

// push queues an event. Threads: any. Blocks: never.
func (w *watcher) push(source string, event Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.queue.Push(source, event)
	if w.running == nil {
		w.running = make(chan struct{})
		go w.run(w.running)
	}
}

// run calls notify until the queue is empty or the watcher is stopped, and then closes
// done.
func (w *watcher) run(done chan struct{}) {
	defer close(done)
	w.caller.Store(goroutine.ID())
	for event, ok := w.pop(); ok; event, ok = w.pop() {
		w.notify(event)
	}
}

// pop takes the first event. If there is none, or the watcher is stopped, the goroutine
// that calls notify has ended as far as others see.
func (w *watcher) pop() (Event, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	event, ok := w.queue.Pop()
	if !ok || w.ended {
		w.queue = Backlog{}
		w.running = nil
		w.caller.Store(0)
		return Event{}, false
	}
	return event, true
}

// stop ends the calls of notify and waits for the one that runs, unless it is the caller:
// a notify function may close whatever watches, and must not then wait for itself.
func (w *watcher) stop() {
	w.end()
	if !w.isCaller() {
		w.wait()
	}
}

// end makes the call of notify that may run the last one.
func (w *watcher) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}

// wait returns when no call of notify runs, after end.
func (w *watcher) wait() {
	w.mu.Lock()
	running := w.running
	w.mu.Unlock()
	if running != nil {
		<-running
	}
}

// isCaller reports whether it is called from within notify.
func (w *watcher) isCaller() bool {
	id := w.caller.Load()
	return id != 0 && id == goroutine.ID()
}
