package bus

import (
	"context"

	"tagbus/bus/internal/fanout"
	"tagbus/tags"
)

// TagPublisher publishes messages of one tag. A publisher that sends many messages of few
// tags saves the lookup of the tag for each of them. Everything else is as with the
// methods of Publisher: which subscribers get a message, its order, and what blocks.
//
// Threads: any, as for Publisher.
type TagPublisher struct {
	p   *Publisher
	way *fanout.Way
}

// Tag returns the way to publish messages of a tag. It need not be closed, and stays valid
// while tags are removed and added again. The tag need not be served yet.
func (p *Publisher) Tag(tag tags.Tag) *TagPublisher {
	return &TagPublisher{p: p, way: p.fan.Way(tag)}
}

// Publish publishes a message as Publisher.Publish does.
func (t *TagPublisher) Publish(data []byte) error {
	if t.way.Publish(data) {
		return nil
	}
	return t.PublishStatus(0, data)
}

// PublishStatus publishes a message as Publisher.PublishStatus does.
func (t *TagPublisher) PublishStatus(status Status, data []byte) error {
	return t.p.PublishStatus(t.way.Tag(), status, data)
}

// PublishContext publishes a message as Publisher.PublishContext does.
func (t *TagPublisher) PublishContext(ctx context.Context, data []byte) error {
	if t.way.Publish(data) {
		return nil
	}
	return t.p.PublishContext(ctx, t.way.Tag(), data)
}

// Tag returns the tag of the messages.
func (t *TagPublisher) Tag() tags.Tag { return t.way.Tag() }
