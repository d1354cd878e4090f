// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/tags"
)

// What a row says of its data cannot be, as the first row of a batch, as one that another path
// would copy, and as one whose tag is new: the rows before it are published, and the error names it.
func TestPublisher_PublishRows_namesTheRowWithoutData(t *testing.T) {
	wrong := []struct {
		name string
		row  bus.Row
		text string
	}{
		{"no address", bus.Row{Data: 0, Size: 5}, "has 5 bytes at 0x0"},
		{"no address and a size beyond int32", bus.Row{Data: 0, Size: math.MaxUint32}, "has 4294967295 bytes at 0x0"},
		{"an end beyond the memory", bus.Row{Data: ^uintptr(0) - 3, Size: 5}, fmt.Sprintf("has 5 bytes at %#x", ^uintptr(0)-3)},
	}
	for _, test := range wrong {
		for _, before := range [][]string{nil, {"1:a"}, {"1:a", "1:b", "1:c"}, {"1:a", "2:b"}} {
			for _, tag := range []tags.Tag{1, 2, 3} {
				synctest.Test(t, func(t *testing.T) {
					b := newBed(t)
					p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2, 3)})
					c := newCollector()
					subscribe(t, b.subscriber(bus.SubscriberConfig{}), tags.Of(1, 2, 3), c.handle)
					test.row.Tag = tag
					rows := append(append(bus.RowsOf(outgoing(before...)), test.row), bus.RowsOf(outgoing("1:behind"))...)
					n, err := p.PublishRows(rows)
					var row *bus.RowError
					if n != len(before) || !errors.As(err, &row) || row.Row != n || row.Tag != tag || row.Data != test.row.Data || row.Size != test.row.Size {
						t.Fatalf("%s behind %v: got %d, %#v", test.name, before, n, err)
					}
					if want := fmt.Sprintf("bus: publish %v: row %d of the batch %s, where no data can be", tag, n, test.text); !strings.HasPrefix(err.Error(), want) {
						t.Errorf("%s: got %v", test.name, err)
					}
					if n, err := p.PublishRows(rows[n+1:]); n != 1 || err != nil {
						t.Errorf("%s: the row behind it: got %d, %v", test.name, n, err)
					}
					p.Flush()
					synctest.Wait()
					want := newCollector()
					for _, m := range append(outgoing(before...), outgoing("1:behind")...) {
						want.data[m.Tag] = append(want.data[m.Tag], string(m.Data))
					}
					if diff := cmp.Diff(want.data, c.data); diff != "" {
						t.Errorf("%s: got (+) and want (-)\n%s", test.name, diff)
					}
				})
			}
		}
	}
}

// A row without bytes needs no address, and none that is there is looked at.
func TestPublisher_PublishRows_withoutBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		c := newCollector()
		subscribe(t, b.subscriber(bus.SubscriberConfig{}), tags.Of(1), c.handle)
		for range 3 {
			if n, err := p.PublishRows([]bus.Row{{Tag: 1}, {Tag: 1, Data: 1}, {Tag: 1, Data: ^uintptr(0)}}); n != 3 || err != nil {
				t.Fatalf("got %d, %v", n, err)
			}
		}
		p.Flush()
		synctest.Wait()
		if len(c.data[1]) != 9 {
			t.Errorf("got %q", c.data)
		}
	})
}
