// SPDX-License-Identifier: Apache-2.0

package bindings_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"

	"tagbus/bus"
	"tagbus/tags"
)

func (d *driven) of(tag tags.Tag) *received {
	if d.received[uint64(tag)] == nil {
		d.received[uint64(tag)] = &received{}
	}
	return d.received[uint64(tag)]
}

func (d *driven) take(messages []bus.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.held {
		d.changed.Wait()
	}
	for i := range messages {
		m := &messages[i]
		r := d.of(m.Tag)
		if n := binary.LittleEndian.Uint64(m.Data); n != m.Counter || len(m.Data) > 8 && m.Data[len(m.Data)-1] != byte(n) {
			d.wrong++
		}
		if from := m.Publisher.Instance; r.publisher != from {
			r.publisher, r.Last = from, 0
		}
		if r.Got++; r.Got == 1 {
			r.First = m.Counter
		}
		if m.Counter <= r.Last {
			d.disordered++
		}
		r.Last = m.Counter
	}
	d.got += uint64(len(messages))
	d.changed.Broadcast()
}

func (d *driven) note(e bus.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events[e.Name()]++
	if e.Kind == bus.Gap {
		d.of(e.Tag).Lost += e.Count
		d.lost += e.Count
	}
	d.changed.Broadcast()
}

func (d *driven) until(kind string, n uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		have := d.events[kind]
		switch kind {
		case "got":
			have = d.got
		case "messages":
			have = d.got + d.lost
		}
		if have >= n {
			return
		}
		d.changed.Wait()
	}
}

// publish publishes messages on the tags from first to last in turn, without those that the publisher does
// not have.
func (d *driven) publish(first, last, count uint64) (done uint64) {
	batch, memory := make([]bus.Message, 64), make([]byte, 64*104)
	d.mu.Lock()
	published := maps.Clone(d.published)
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.published = published
	}()
	for turn := uint64(0); done < count && !d.stop.Load(); {
		n := min(count-done, uint64(len(batch)))
		for i := range n {
			tag := first + (turn+i)%(last-first+1)
			published[tag]++
			k := published[tag]
			data := memory[i*104:][:8+k%90]
			for j := range data {
				data[j] = byte(k)
			}
			binary.LittleEndian.PutUint64(data, k)
			batch[i] = bus.Message{Tag: tags.Tag(tag), Data: data}
		}
		accepted, err := d.publisher.PublishBatchContext(context.Background(), batch[:n])
		for _, m := range batch[accepted:n] {
			published[uint64(m.Tag)]--
		}
		done += uint64(accepted)
		turn += uint64(accepted)
		if errors.Is(err, bus.ErrUnknownTag) {
			turn++
		} else if err != nil {
			break
		}
	}
	return done
}

func (d *driven) account() (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := account{Wrong: d.wrong, Disordered: d.disordered, Tags: d.received, Published: d.published, Events: d.events}
	if d.publisher != nil {
		stats := d.publisher.Stats()
		a.Publisher = &stats
	}
	if d.subscriber != nil {
		stats := d.subscriber.Stats()
		a.Subscriber = &stats
	}
	text, err := json.Marshal(a)
	return string(text), err
}
