// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/pattern"
	"tagbus/tags"
)

// slot is a topic that is open, or is being opened.
type slot struct {
	log     *Log                // nil: not yet
	waiting []func(*Log, error) // told when it is
}

// few returns a tag of each topic that has to exist; nothing if those count that exist.
func (s *several) few() []tags.Tag {
	if s.base.cfg.Tags.Equal(tags.Everything()) {
		return nil
	}
	return pattern.Firsts(s.base.cfg.Tags, s.names.topics.shift, maxTopics)
}

// all returns the topics of Config.Tags that there are, of which it opens those that are new.
//
// Errors: as open; durable.ErrRefused, wrapped, for too many.
func (s *several) all(ctx context.Context) ([]*Log, error) {
	wanted := s.few()
	if wanted == nil {
		var err error
		if wanted, err = s.find(ctx); err != nil {
			return nil, s.base.blame(ctx, err)
		}
	}
	if err := s.await(ctx, wanted...); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.logs), nil
}

// await opens the topics of some tags, and waits for them.
//
// Errors: as with; the cause of the end of ctx.
func (s *several) await(ctx context.Context, wanted ...tags.Tag) (errs error) {
	opened := make(chan error, len(wanted))
	for _, tag := range wanted {
		s.with(tag, func(_ *Log, err error) { opened <- err })
	}
	for range wanted {
		select {
		case err := <-opened:
			errs = errors.Join(errs, err)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return errs
}

// find asks the brokers for the topics of Config.Tags, and returns a tag of each.
func (s *several) find(ctx context.Context) (wanted []tags.Tag, err error) {
	asking, cancel := s.base.within(ctx)
	defer cancel()
	resp, err := metadata(asking, s.base.client)
	if err != nil {
		return nil, err
	}
	for i := range resp.Topics {
		name := resp.Topics[i].Topic
		if name == nil {
			continue
		}
		if first, last, ok := s.names.topics.span(*name); ok {
			if span, err := tags.Range(first, last); err == nil && span.Intersects(s.base.cfg.Tags) {
				wanted = append(wanted, first)
			}
		}
	}
	if len(wanted) > maxTopics {
		return nil, refuse("%s has %d topics, and a log has %d at most: name the tags of fewer, or leave more bits out of {tag>>N}", s.names.topics.text, len(wanted), maxTopics)
	}
	slices.Sort(wanted)
	return wanted, nil
}

// with has the topic of a tag opened, unless it is open, and calls then with it: at once, or later on another goroutine.
//
// Errors: durable.ErrRefused, wrapped, for one too many, and as Log.look; those of the brokers; durable.ErrClosed.
func (s *several) with(tag tags.Tag, then func(*Log, error)) {
	name := s.names.topics.of(tag)
	s.mu.Lock()
	at := s.slots[name]
	switch {
	case s.over:
		s.mu.Unlock()
		then(nil, durable.ErrClosed)
	case at != nil && at.log != nil:
		s.mu.Unlock()
		then(at.log, nil)
	case at != nil:
		at.waiting = append(at.waiting, then)
		s.mu.Unlock()
	case len(s.slots) == maxTopics:
		s.mu.Unlock()
		then(nil, refuse("tag %v has its place in topic %s, and %d other topics of %s are open, which are all that a log has: let several bridges write, each some of the tags, or leave more bits out of {tag>>N}", tag, name, maxTopics, s.names.topics.text))
	default:
		at = &slot{waiting: []func(*Log, error){then}}
		s.slots[name] = at
		s.running.Go(func() { s.open(tag, name, at) })
		s.mu.Unlock()
	}
}

// open opens the topic of a slot, which it removes if that fails.
func (s *several) open(tag tags.Tag, name string, at *slot) {
	b := s.base
	l := newLog(b.stop, s.names.config(b.cfg, tag))
	l.several, l.client, l.connects = s, b.client, b.connects
	ctx, cancel := l.within(l.stop)
	defer cancel()
	err := l.begin(ctx)
	if err != nil {
		err = errors.Join(l.named(l.blame(l.stop, err)), l.Close())
	}
	s.mu.Lock()
	if err != nil {
		delete(s.slots, name)
	} else {
		l.number = len(s.logs)
		s.logs = append(s.logs, l)
		at.log = l
	}
	waiting := at.waiting
	s.mu.Unlock()
	for _, then := range waiting {
		then(l, err)
	}
}

// owns reports whether a tag has its place in this topic.
func (l *Log) owns(tag tags.Tag) error {
	if l.several == nil {
		return nil
	}
	if name := l.several.names.topics.of(tag); name != l.cfg.Topic {
		return fmt.Errorf("it has tag %v, whose topic is %s by the pattern %s: name the pattern with which the topic was written", tag, name, l.several.names.topics.text)
	}
	return nil
}
