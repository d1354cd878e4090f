// SPDX-License-Identifier: Apache-2.0

package mirror

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"tagbus/bus/directory"
)

const (
	// atOnce is how many entries are written at once: servers take several in one write.
	atOnce = 16

	// What fails is tried again after a pause that doubles.
	minPause = time.Second
	maxPause = 30 * time.Second
)

// copier copies the entries of one directory into another as long as it runs. What is gone
// from the first goes from the second; what others have announced in the second stays.
type copier struct {
	from, to directory.Directory
	view     *view
	problem  func(error) // told what fails; it must not block
	quietTo  bool        // another copier tells the problems of the second directory

	copies map[string]*copied // by instance: what is in the second directory, or should be
	counts counts
}

// copied is an entry that is in the second directory, or should be. One goroutine at a time
// has it.
type copied struct {
	entry   directory.Entry        // what was announced last
	reg     directory.Registration // nil: it is not announced
	leaving bool                   // reg is being withdrawn
	other   bool                   // another has announced it
	err     error                  // what fails
	pause   time.Duration
	next    time.Time // when it is tried again; zero: when something changes
}

func newCopier(id string, from, to directory.Directory, problem func(error)) *copier {
	return &copier{from: from, to: to, view: newView(id), problem: problem, copies: make(map[string]*copied)}
}

// run copies until ctx ends, and then withdraws its copies, which hurry cuts short.
//
//   - Errors: those of Watch; what could not be withdrawn, which expires by itself.
func (c *copier) run(ctx, hurry context.Context) error {
	stopFrom, err := c.from.Watch(c.told(c.view.first, false))
	if err != nil {
		return err
	}
	stopTo, err := c.to.Watch(c.told(c.view.second, c.quietTo))
	if err != nil {
		stopFrom()
		return err
	}
	c.follow(ctx)
	stopFrom()
	stopTo()
	return c.withdrawAll(hurry)
}

// told returns a notify function that reports problems, too, unless it is quiet.
func (c *copier) told(take func(directory.Event), quiet bool) func(directory.Event) {
	return func(e directory.Event) {
		if e.Kind == directory.Problem && !quiet {
			c.problem(e.Err)
		}
		take(e)
	}
}

// follow copies until ctx ends.
func (c *copier) follow(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.view.wake:
		case <-timer.C:
		}
		c.round(ctx)
		if next := c.nextTry(); !next.IsZero() {
			timer.Reset(time.Until(next))
		}
	}
}

// nextTry returns when the next of those that failed is tried again, or zero.
func (c *copier) nextTry() (next time.Time) {
	for _, e := range c.copies {
		if !e.next.IsZero() && (next.IsZero() || e.next.Before(next)) {
			next = e.next
		}
	}
	return next
}

// round brings into order what has changed and what is to be tried again.
func (c *copier) round(ctx context.Context) {
	instances, now := c.view.take(), time.Now()
	for instance, e := range c.copies {
		if !e.next.IsZero() && !e.next.After(now) {
			instances = append(instances, instance)
		}
	}
	slices.Sort(instances)
	instances = slices.Compact(instances)
	for _, instance := range instances {
		if c.copies[instance] == nil {
			c.copies[instance] = new(copied)
		}
	}
	each(instances, func(instance string) {
		if ctx.Err() == nil {
			c.settle(instance, c.copies[instance])
		}
	})
	for _, instance := range instances {
		if e := c.copies[instance]; e.reg == nil && !e.other && e.err == nil {
			delete(c.copies, instance)
		}
	}
	c.counts.see(c.copies)
}

// each calls do for each instance, some at once, and returns when all are done.
func each(instances []string, do func(instance string)) {
	var all sync.WaitGroup
	free := make(chan struct{}, atOnce)
	for _, instance := range instances {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			do(instance)
		})
	}
	all.Wait()
}

// settle makes the second directory have what the first has of an instance. Blocks: for the
// storage.
func (c *copier) settle(instance string, e *copied) {
	err := c.bring(instance, e)
	e.other = errors.Is(err, directory.ErrAnnounced)
	failed := err != nil && !e.other
	if failed && (e.err == nil || e.err.Error() != err.Error()) {
		c.problem(err)
	}
	if e.err = nil; failed {
		e.err = err
	}
	if e.next = (time.Time{}); err == nil {
		e.pause = 0
		return
	}
	e.pause = min(max(minPause, 2*e.pause), maxPause)
	e.next = time.Now().Add(e.pause)
}

// bring does the work of settle.
//
// Errors: directory.ErrAnnounced if the entry is another's; the storage's.
func (c *copier) bring(instance string, e *copied) error {
	want, wanted, taken := c.view.of(instance, e.reg != nil)
	if e.reg != nil && (e.leaving || !wanted || taken) {
		e.leaving = true
		if err := e.reg.Withdraw(); err != nil {
			return err
		}
		e.reg, e.leaving = nil, false
		c.counts.withdrawn.Add(1)
	}
	switch {
	case !wanted:
		return nil
	case taken:
		return directory.ErrAnnounced
	case e.reg == nil:
		reg, err := c.to.Announce(want)
		if err != nil {
			return err
		}
		e.reg, e.entry = reg, want
		c.counts.announced.Add(1)
	case !e.entry.Equal(want):
		if err := e.reg.Update(want); err != nil {
			return err
		}
		e.entry = want
		c.counts.updated.Add(1)
	}
	return nil
}

// withdrawAll withdraws the copies, until hurry ends.
//
// Errors: of those that could not be withdrawn, joined.
func (c *copier) withdrawAll(hurry context.Context) error {
	var mu sync.Mutex
	var errs []error
	instances := make([]string, 0, len(c.copies))
	for instance, e := range c.copies {
		if e.reg != nil {
			instances = append(instances, instance)
		}
	}
	slices.Sort(instances)
	each(instances, func(instance string) {
		e, err := c.copies[instance], context.Cause(hurry)
		if err == nil {
			err = e.reg.Withdraw()
		}
		if err == nil {
			e.reg = nil
			c.counts.withdrawn.Add(1)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err)
	})
	c.counts.see(c.copies)
	if len(errs) == 0 {
		return nil
	}
	return &LeftError{Copies: len(errs), Err: errs[0]}
}
