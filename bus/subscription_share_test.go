// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"testing"

	"tagbus/netio"
)

// lender is an endpoint with memory that can be kept.
type lender struct {
	netio.Endpoint
	bytes    int
	released int
}

func (l *lender) Retain() (netio.Retained, error) { return l, nil }
func (l *lender) Bytes() int                      { return l.bytes }
func (l *lender) Release()                        { l.released++ }

// TestDispatcher_share_pagesOf64KiB: in the blocks of package tcp a page with one message of 64 KiB was a little
// less than a quarter, and each was copied.
func TestDispatcher_share_pagesOf64KiB(t *testing.T) {
	const block = (256 + 4) << 10
	for _, test := range []struct {
		size   int
		shared bool
	}{{leastShared - 1, false}, {leastShared, false}, {block / 6, false}, {64 << 10, true}, {block, true}} {
		l := &lender{bytes: block}
		d := &dispatcher{src: new(source)}
		d.src.contact.ep = l
		got := d.share(test.size)
		if (got != nil) != test.shared {
			t.Errorf("a page of %d bytes: shared is %v, want %v", test.size, got != nil, test.shared)
		}
		if got != nil {
			got.Release()
		}
		if kept := test.size >= leastShared; l.released != 1 && kept {
			t.Errorf("a page of %d bytes: memory was given back %d times", test.size, l.released)
		}
	}
}
