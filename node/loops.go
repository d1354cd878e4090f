// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"

	"tagbus/bus"
	"tagbus/netio/reactor"
)

// maxLoops is more than the processors of a network card's node.
const maxLoops = 64

// makeLoops makes the loop of the callbacks, and others if there are to be several.
func (n *Node) makeLoops(cfg reactor.Config, loops int) error {
	if loops < 0 || loops > maxLoops {
		return fmt.Errorf("%w: Loops is %d, want 1 to %d", bus.ErrInvalidConfig, loops, maxLoops)
	}
	if loops > 1 {
		loops++
	}
	for range max(1, loops) {
		loop, err := reactor.New(cfg)
		if err != nil {
			return err
		}
		n.loops = append(n.loops, loop)
		cfg.Init = nil // it is for the loop of the callbacks
	}
	return nil
}

// run runs a loop. A callback that calls runtime.Goexit, as testing.T.FailNow does, ends
// the goroutine in it.
func (n *Node) run(loop *reactor.EventLoop) {
	var err error
	defer func() {
		n.loopEnded()
		n.done <- err
	}()
	err = loop.Run(context.Background())
}

// loopEnded closes what was opened on the node if a loop has ended before Close:
// whatever waits for that loop would wait for ever. Close does the rest, and says why.
func (n *Node) loopEnded() {
	n.mu.Lock()
	first := !n.closed && !n.down
	n.down = true
	users := n.users.all()
	n.mu.Unlock()
	if first {
		n.early = closeAll(users)
	}
}

// refuse returns why nothing can be opened on the node. mu is held.
func (n *Node) refuse() error {
	switch {
	case n.closed:
		return bus.ErrClosed
	case n.down:
		return errDown
	}
	return nil
}

var errDown = fmt.Errorf("%w: an event loop of the node has ended: close the node, which says why", bus.ErrClosed)

// closeLoops releases the loops, which do not run.
func (n *Node) closeLoops() error {
	var errs []error
	for _, loop := range n.loops {
		errs = append(errs, loop.Close())
	}
	return errors.Join(errs...)
}
