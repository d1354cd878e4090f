package node

import (
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

// closeLoops releases the loops, which do not run.
func (n *Node) closeLoops() error {
	var errs []error
	for _, loop := range n.loops {
		errs = append(errs, loop.Close())
	}
	return errors.Join(errs...)
}
