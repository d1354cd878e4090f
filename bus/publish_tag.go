// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"context"

	"tagbus/bus/internal/fanout"
	"tagbus/tags"
)

// TagPublisher publishes messages of one tag: what Publisher.Publish and PublishContext do,
// without the lookup of the tag for each message.
//
// Threads: any, as for Publisher.
type TagPublisher struct {
	p   *Publisher
	way *fanout.Way
}

// Tag returns the way to publish messages of a tag, for loops over few tags. It need not be
// closed, and stays valid while tags are added and removed.
func (p *Publisher) Tag(tag tags.Tag) *TagPublisher { return &TagPublisher{p, p.fan.Way(tag)} }

// Publish publishes a message as Publisher.Publish does.
func (t *TagPublisher) Publish(data []byte) error {
	if t.way.Publish(data) {
		return nil
	}
	return t.p.Publish(t.way.Tag(), data)
}

// PublishContext publishes a message as Publisher.PublishContext does.
func (t *TagPublisher) PublishContext(ctx context.Context, data []byte) error {
	if t.way.Publish(data) {
		return nil
	}
	return t.p.PublishContext(ctx, t.way.Tag(), data)
}
