package fanout

import "tagbus/tags"

// sample decides for the policy Sample: the lane gets the first message of each tag, and
// then one of so many.
type sample struct {
	solo  *solo
	every uint64
	tags  map[tags.Tag]*sampleTag
}

// sampleTag is what is known of a tag.
type sampleTag struct {
	soloTag
	seen uint64 // messages
}

// take decides about a message.
func (o *sample) take(tag tags.Tag, status uint8, position uint64, data []byte) {
	t := o.tags[tag]
	if t == nil {
		t = &sampleTag{soloTag: soloTag{tag: tag}}
		o.tags[tag] = t
	}
	if t.seen++; (t.seen-1)%o.every == 0 {
		o.solo.write(&t.soloTag, status, position, data)
	} else {
		o.solo.leaveOut(&t.soloTag)
	}
}

// forget drops a tag. It returns nil for an unknown one.
func (o *sample) forget(tag tags.Tag) *soloTag {
	t := o.tags[tag]
	if t == nil {
		return nil
	}
	delete(o.tags, tag)
	return &t.soloTag
}
