// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"encoding/binary"
	"fmt"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// hostilePayload is what the honest publisher sends.
func hostilePayload(tag tags.Tag, counter uint64) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(tag)), counter)
}

// honest is the publisher that the hostile peers must not disturb, and what it has
// published.
type honest struct {
	h *hostileBed
	*bus.Publisher
	published []uint64 // by tag
	accepted  uint64
}

// honest opens a publisher that has published each of the tags below known once.
func (h *hostileBed) honest(known int, onEvent func(bus.Event)) *honest {
	set, err := tags.Range(0, tags.Tag(known-1))
	must(h.t, err)
	access := h.as("cn:honest")
	p, err := bus.NewPublisher(h.opener(h.newHost()), h.dir, bus.PublisherConfig{
		Tags: set, Listening: bus.Listening{Listen: anyPort(h.host)}, Sending: bus.Sending{
			PageBytes: 1 << 10, MaxMessageBytes: 900, QueueBytes: 16 << 10, PoolBytes: 4 << 20,
			CacheMessages: 4, CacheBytes: 128 << 10,
			MaxStall: 10 * time.Second,
		}, MaxStreams: 16, MaxSubscribers: 8, MaxSubscribersPerHost: 6, Common: bus.Common{OnEvent: onEvent, Access: access},
	})
	must(h.t, err)
	x := &honest{h: h, Publisher: p, published: make([]uint64, known)}
	for tag := range tags.Tag(known) {
		if err := x.publish(tag); err != nil {
			h.t.Fatal(err)
		}
	}
	h.publishable = mostPublished
	return x
}

// publish publishes a message, if the publisher takes it.
func (x *honest) publish(tag tags.Tag) error {
	if x.h.publishable == 0 {
		return bus.ErrNoResources
	}
	x.h.publishable--
	err := x.Publish(tag, hostilePayload(tag, x.published[tag]+1))
	if err == nil {
		x.published[tag]++
		x.accepted++
	}
	return err
}

// burst publishes as the program says.
func (x *honest) burst(known int) {
	first, n, step := int(x.h.byte())*8, int(x.h.byte()), int(x.h.byte())
	for i := range n {
		_ = x.publish(tags.Tag((first + i*step) % known))
	}
}

// last publishes a message of a tag, for which there has to be room soon.
func (x *honest) last(tag tags.Tag) {
	x.h.t.Helper()
	x.h.publishable = max(x.h.publishable, 1000)
	var err error
	for range 100 {
		if err = x.publish(tag); err == nil {
			x.Flush()
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	x.h.t.Errorf("tag %v cannot be published: %v", tag, err)
}

// judge is what an honest subscriber receives of the honest publisher.
type judge struct {
	from     func() string // the instance of the publisher
	counters map[tags.Tag]uint64
	messages uint64
	wrong    string // the first that was
}

func (j *judge) handle(m bus.Message) {
	if j.from != nil && m.Publisher.Instance != j.from() {
		return
	}
	j.messages++
	before, known := j.counters[m.Tag]
	switch {
	case j.wrong != "":
	case known && m.Counter != before+1:
		j.wrong = fmt.Sprintf("tag %v: message %d after %d", m.Tag, m.Counter, before)
	case string(m.Data) != string(hostilePayload(m.Tag, m.Counter)):
		j.wrong = fmt.Sprintf("tag %v: message %d is %x", m.Tag, m.Counter, m.Data)
	}
	j.counters[m.Tag] = m.Counter
}

// check fails the test unless everything has come that was published of the tags from lo
// to hi since there were so many messages before.
func (j *judge) check(x *honest, who string, lo, hi tags.Tag, before []uint64) {
	x.h.t.Helper()
	if j.wrong != "" {
		x.h.t.Errorf("%s: %s", who, j.wrong)
	}
	var want uint64
	for tag := lo; tag <= hi; tag++ {
		n := x.published[tag]
		if n == before[tag] {
			continue
		}
		want += n - before[tag]
		if got := j.counters[tag]; got != n {
			x.h.t.Errorf("%s: got tag %v up to message %d, want %d", who, tag, got, n)
			return
		}
	}
	if j.messages != want {
		x.h.t.Errorf("%s: got %d messages, want %d", who, j.messages, want)
	}
}
