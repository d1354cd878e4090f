// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing/synctest"

	"tagbus/bus"
	"tagbus/tags"
)

// payload makes the message that has this counter, of varying size: some are
// larger than a page.
func payload(tag tags.Tag, counter uint64) []byte {
	data := fmt.Appendf(nil, "%d:%d:", tag, counter)
	n := int(counter*37+uint64(tag)*11) % 120
	if counter%17 == 0 {
		n += 400
	}
	return append(data, bytes.Repeat([]byte{byte(counter)}, n)...)
}

func (r *modelRun) publish(tag tags.Tag) {
	r.published(tag, r.pub.Publish(tag, payload(tag, r.now.published[tag]+1)))
}

// publishBatch publishes messages of two tags, three of a tag at a time.
func (r *modelRun) publishBatch(op modelOp) {
	var batch []bus.Message
	next := maps.Clone(r.now.published)
	for i := range op.Amount {
		tag := tags.Tag((op.Tag + i/3%2) % modelTags)
		next[tag]++
		batch = append(batch, bus.Message{Tag: tag, Data: payload(tag, next[tag])})
	}
	n, err := r.pub.PublishBatch(batch)
	for _, m := range batch[:n] {
		r.published(m.Tag, nil)
	}
	if n < len(batch) {
		r.published(batch[n].Tag, err)
	} else if err != nil {
		r.failf("publish %d messages: %v, though all were accepted", n, err)
	}
}

// lentMessage is a message that was published without being copied.
type lentMessage struct {
	tag  tags.Tag
	done atomic.Int32
}

// publishLent publishes a message and writes over it when it is back.
func (r *modelRun) publishLent(tag tags.Tag) {
	m := &lentMessage{tag: tag}
	data := payload(tag, r.now.published[tag]+1)
	err := r.pub.PublishZeroCopy(tag, 0, data, func() {
		m.done.Add(1)
		clear(data)
	})
	if err == nil {
		r.lent = append(r.lent, m)
	}
	r.published(tag, err)
}

// published notes the result of publishing the next message of a tag.
func (r *modelRun) published(tag tags.Tag, err error) {
	switch {
	case r.now.removed[tag]:
		if !errors.Is(err, bus.ErrUnknownTag) {
			r.failf("publish removed tag %v: %v", tag, err)
		}
	case err == nil:
		r.now.published[tag]++
	case !errors.Is(err, bus.ErrNoResources):
		r.failf("publish: %v", err)
	case !r.mayBlock(tag):
		r.failf("publish tag %v: %v, though no lossless subscription has it", tag, err)
	default:
		synctest.Wait()
	}
}

// mayBlock reports whether a tag has a subscriber that may make the publisher wait.
func (r *modelRun) mayBlock(tag tags.Tag) bool {
	return slices.ContainsFunc(r.subs[:], func(s *modelSubscriber) bool {
		return s.sub != nil && s.policy.Lossless() && s.set.Contains(tag)
	})
}
