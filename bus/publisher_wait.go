// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"
	"fmt"

	"tagbus/bus/internal/tagset"
	"tagbus/tags"
)

// WaitSubscribers waits until at least n subscribers have a subscription, and each tag
// of set has a subscriber.
//
//   - set: the tags that are about to be published; often PublisherConfig.Tags.
//   - Errors: ErrClosed; ErrOnLoop; tags.ErrTooComplex, wrapped, when the sets
//     have too many overlapping masks to compare; the cause of the end of ctx.
//   - Threads: any.
func (p *Publisher) WaitSubscribers(ctx context.Context, n int, set tags.Set) error {
	var missing *tags.Tag // as long as no subscriber wants it, the sets need not be compared
	for {
		p.fan.Mu.Lock()
		open := p.state == publisherOpen
		enough := p.subscribed() >= n
		var wanted []tags.Set
		compare := enough && n > 0 && (missing == nil || p.fan.Wanted(*missing))
		if compare {
			wanted = p.fan.WantedSets()
		}
		changed := p.fan.NextChange()
		p.fan.Mu.Unlock()
		var err error
		if compare { // the comparison can take long, and the loop needs Mu
			missing, err = tagset.Missing(tags.Union(wanted...), set)
		}
		enough = enough && (n <= 0 || missing == nil)
		switch {
		case !open:
			return ErrClosed
		case err != nil:
			return fmt.Errorf("bus: wait for %d subscribers of %s: %w", n, shortSet(set), err)
		case enough:
			return nil
		case p.loop.OnAnyLoop():
			return ErrOnLoop
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("bus: wait for %d subscribers: %w", n, context.Cause(ctx))
		}
	}
}

// subscribed returns how many subscribers have a subscription. fan.Mu is held.
func (p *Publisher) subscribed() (count int) {
	for l := range p.links {
		if l.out.Subscribed() {
			count++
		}
	}
	return count
}

// nextChange returns a channel that is closed at the next change of a subscription.
func (p *Publisher) nextChange() <-chan struct{} {
	p.fan.Mu.Lock()
	defer p.fan.Mu.Unlock()
	return p.fan.NextChange()
}
