// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/tags"
)

// TestPublisher_overlappingSets is the case: each subscriber gets exactly its
// tags, in order, all of them, whether streams suffice or not.
func TestPublisher_overlappingSets(t *testing.T) {
	for _, streams := range []int{1, 2, 64} {
		t.Run(fmt.Sprintf("with at most %d streams", streams), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { overlappingSets(t, streams) })
		})
	}
}

func overlappingSets(t *testing.T, streams int) {
	b := newBed(t)
	all, err := tags.Range(0, 999)
	must(t, err)
	p := b.publisher(bus.PublisherConfig{Tags: all, Sending: bus.Sending{PageBytes: 2048, MaxMessageBytes: 3000}, MaxStreams: streams})
	var sets []tags.Set
	for _, text := range []string{"0-999", "100-600", "500-700,3", "0x0&0x1,999"} {
		set, err := tags.ParseSet(text)
		must(t, err)
		sets = append(sets, set)
	}
	var collectors []*collector
	for _, set := range sets {
		c := newCollector()
		collectors = append(collectors, c)
		subscribe(t, b.subscriber(bus.SubscriberConfig{}), set, c.handle)
	}
	must(t, p.WaitSubscribers(t.Context(), 4, all))
	want := make(map[tags.Tag][]string)
	for i := range 5000 {
		tag := tags.Tag(i * 7 % 1000)
		data := fmt.Sprint(i)
		if i%100 == 0 {
			data += strings.Repeat("-", 3000-len(data)) // larger than a page
		}
		must(t, p.PublishContext(t.Context(), tag, []byte(data)))
		want[tag] = append(want[tag], data)
	}
	must(t, p.Drain(t.Context()))
	synctest.Wait()
	for i, c := range collectors {
		expect := make(map[tags.Tag][]string)
		for tag, data := range want {
			if sets[i].Contains(tag) {
				expect[tag] = data
			}
		}
		if d := cmp.Diff(expect, c.data); d != "" {
			t.Errorf("subscriber %d (-want +got):\n%.2000s", i, d)
		}
		if len(c.bad) > 0 {
			t.Errorf("subscriber %d: %v", i, c.bad)
		}
	}
	if st := p.Stats(); st.Messages != 5000 || st.Unconfirmed != 0 || st.PagesFree != st.Pages {
		t.Errorf("stats: got %+v", st)
	}
}
