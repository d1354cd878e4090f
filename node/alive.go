// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ErrStuck is wrapped in the error of Alive when an event loop does not turn.
var ErrStuck = errors.New("node: an event loop does not turn")

// turn is one look at the loops.
type turn struct {
	began time.Time
	left  atomic.Int32  // loops that have not turned
	done  chan struct{} // closed when all have
}

// turns are the looks at the loops of a node, one at a time.
type turns struct {
	mu   sync.Mutex
	last *turn
}

// Alive reports whether the event loops turn, for the health check of a program.
// Nothing is received, sent or noticed on a loop that does not turn: a callback runs all
// the time, or waits.
//
//   - Errors: ErrStuck, wrapped, with the time for which it is known, when ctx ends
//     first; bus.ErrClosed when the node is closed or a loop has ended.
//   - Threads: any but a loop's, for which it would wait: there it returns nil, because
//     that one turns. Blocks: until all loops have turned once, mostly some
//     microseconds. Many calls at once cost the loops as much as one.
func (n *Node) Alive(ctx context.Context) error {
	if n.Loop().OnAnyLoop() {
		return nil
	}
	n.mu.Lock()
	refused := n.refuse()
	n.mu.Unlock()
	if refused != nil {
		return refused
	}
	t, ok := n.look()
	if !ok {
		return errDown
	}
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w for %v: a callback runs, or waits, on it", ErrStuck, time.Since(t.began).Round(time.Millisecond))
	}
}

// look begins a look at the loops, or returns the one that is not over. ok is false if
// a loop has ended.
func (n *Node) look() (t *turn, ok bool) {
	n.turns.mu.Lock()
	defer n.turns.mu.Unlock()
	if t = n.turns.last; t != nil {
		select {
		case <-t.done:
		default:
			return t, true
		}
	}
	t = &turn{began: time.Now(), done: make(chan struct{})}
	t.left.Store(int32(len(n.loops)))
	for _, loop := range n.loops {
		if !loop.Post(func() {
			if t.left.Add(-1) == 0 {
				close(t.done)
			}
		}) {
			return nil, false
		}
	}
	n.turns.last = t
	return t, true
}
