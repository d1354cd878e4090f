// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/tags"
)

// TestSubscription_Messages_anIterationWithinAnother takes some messages out of the middle of another iteration,
// as a reader does that looks for the end of what it has met. Of a run of plain messages
// only what changes was set, so the outer one went on with the tag of before.
func TestSubscription_Messages_anIterationWithinAnother(t *testing.T) {
	for inner := 1; inner <= 12; inner++ {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2), Sending: bus.Sending{FlushInterval: time.Hour, PageBytes: 4096}})
			s := b.subscriber(bus.SubscriberConfig{})
			sub := subscribe(t, s, tags.Of(1, 2), nil)
			want := runs(t, p)
			synctest.Wait()
			var read []string
			take := func(m bus.Message) {
				read = append(read, withStatus(m))
				must(t, m.Retain())
				m.Release()
			}
			for m, err := range sub.Messages(t.Context()) {
				must(t, err)
				take(m)
				left := inner
				for m, err := range sub.Messages(t.Context()) {
					must(t, err)
					take(m)
					if left--; left == 0 {
						break
					}
				}
				if len(read)+1+inner > len(want) {
					break
				}
			}
			if diff := cmp.Diff(want[:len(read)], read); diff != "" {
				t.Errorf("%d messages within: got (+) and want (-)\n%s", inner, diff)
			}
		})
	}
}
