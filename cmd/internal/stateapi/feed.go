// SPDX-License-Identifier: Apache-2.0

package stateapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"tagbus/internal/sanitize"
)

const (
	// MaxViewers is how many viewers a feed has at once.
	MaxViewers = 16

	// interval is the time between two events.
	interval = time.Second
)

// Feed sends events to viewers, one a second each. What viewers with the same question see
// is made once for all of them, and only while there is one.
//
// An event that is not sent when the next one is there is left out. A viewer that reads
// nothing for some seconds is closed, and holds no other one up.
//
// Threads: any.
type Feed struct {
	ended chan struct{} // closed by Close

	mu      sync.Mutex
	closed  bool
	viewers int
	topics  map[string]*topic // by key: those with viewers
}

// topic is what viewers with one question share. Feed.mu guards it.
type topic struct {
	viewers map[*viewer]struct{}
	last    []byte             // the last event
	stop    context.CancelFunc // of the goroutine that makes events
}

// viewer is one request.
type viewer struct {
	next chan []byte // the newest event that it was not sent
}

var (
	errFull   = fmt.Errorf("%d viewers look already: close one, or ask for /api/v1/state now and then", MaxViewers)
	errClosed = errors.New("the program ends")
)

// NewFeed returns a feed without viewers. Close it.
func NewFeed() *Feed {
	return &Feed{ended: make(chan struct{}), topics: make(map[string]*topic)}
}

// Close ends the answers to all viewers. Later ones are refused. The second call does
// nothing.
func (f *Feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed = true
		close(f.ended)
	}
}

// Serve answers a request with events, until the viewer goes, reads nothing, or the feed is
// closed. An event "state" has what produce returns, and an event "problem" why it does not.
//
//   - key: names what produce returns: it is called for all viewers with this key.
//   - produce: returns a text in one line. The context ends with the last viewer, and after
//     some seconds.
//   - Answers: 503 with a text if there are too many viewers.
func (f *Feed) Serve(w http.ResponseWriter, r *http.Request, key string, produce func(context.Context) ([]byte, error)) {
	h := w.Header()
	if r.Method == http.MethodHead {
		harden(h)
		h.Set("Content-Type", "text/event-stream")
		return
	}
	v, err := f.join(key, produce)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer f.leave(key, v)
	harden(h)
	h.Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	event := []byte("retry: 2000\n\n")
	for {
		if control.SetWriteDeadline(time.Now().Add(writeTimeout)) != nil {
			return // it is no connection that could be given up
		}
		if _, err := w.Write(event); err != nil || control.Flush() != nil {
			return
		}
		select {
		case event = <-v.next:
		case <-r.Context().Done():
			return
		case <-f.ended:
			return
		}
	}
}

// join adds a viewer.
func (f *Feed) join(key string, produce func(context.Context) ([]byte, error)) (*viewer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed:
		return nil, errClosed
	case f.viewers == MaxViewers:
		return nil, errFull
	}
	t := f.topics[key]
	if t == nil {
		ctx, cancel := context.WithCancel(context.Background())
		t = &topic{viewers: make(map[*viewer]struct{}), stop: cancel}
		f.topics[key] = t
		go f.run(ctx, t, produce)
	}
	v := &viewer{next: make(chan []byte, 1)}
	if t.last != nil {
		v.next <- t.last
	}
	t.viewers[v] = struct{}{}
	f.viewers++
	return v, nil
}

// leave removes a viewer.
func (f *Feed) leave(key string, v *viewer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.topics[key]
	delete(t.viewers, v)
	f.viewers--
	if len(t.viewers) == 0 {
		t.stop()
		delete(f.topics, key)
	}
}

// run makes events until the last viewer of a topic has gone.
func (f *Feed) run(ctx context.Context, t *topic, produce func(context.Context) ([]byte, error)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		f.publish(t, event(ctx, produce))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// publish gives an event to the viewers of a topic, in place of one that waits.
func (f *Feed) publish(t *topic, event []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t.last = event
	for v := range t.viewers {
		select {
		case <-v.next:
		default:
		}
		v.next <- event // there is room: no other goroutine adds to it
	}
}

// event returns an event as it is sent.
func event(ctx context.Context, produce func(context.Context) ([]byte, error)) []byte {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	text, err := produce(ctx)
	switch {
	case err != nil:
		return problem("the state is not known: " + sanitize.Error(err))
	case len(text) > MaxEventBytes:
		return problem(fmt.Sprintf("the state has %d bytes, and an event at most %d: ask for fewer peers or tags", len(text), MaxEventBytes))
	case bytes.ContainsAny(text, "\r\n"):
		return problem("the state has more than one line")
	}
	return fmt.Appendf(nil, "event: state\ndata: %s\n\n", text)
}

func problem(text string) []byte {
	return fmt.Appendf(nil, "event: problem\ndata: %s\n\n", sanitize.Line(text))
}
