// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"tagbus/bus"
	"tagbus/tags"
)

// The sizes are those for which a page begins, and ends, within the batch.
func TestPublisher_PublishRows_allocatesNothing(t *testing.T) {
	for _, size := range []int{0, 40, 1000} {
		synctest.Test(t, func(t *testing.T) {
			p := newBed(t).publisher(bus.PublisherConfig{Tags: tags.Of(1, 2)})
			batch := outgoing("1:a", "1:b", "2:c", "1:d")
			for i := range batch {
				batch[i].Data = []byte(strings.Repeat("x", size))
			}
			rows := bus.RowsOf(batch)
			if _, err := p.PublishRows(rows); err != nil { // the first of their tags
				t.Fatal(err)
			}
			if n := testing.AllocsPerRun(100, func() { _, _ = p.PublishRows(rows) }); n > 0 {
				t.Errorf("%d bytes: a batch allocates %v times", size, n)
			}
		})
	}
}
