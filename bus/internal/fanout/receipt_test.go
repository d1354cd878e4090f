// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"context"
	"errors"
	"testing"
	"time"

	"tagbus/subscription"
	"tagbus/tags"
)

// TestAReceiptOfSeveralLanes is settled, although no Ack of one of them would say enough.
func TestAReceiptOfSeveralLanes(t *testing.T) {
	b := newLeaveBed(t, 1, 16)
	for _, policy := range []subscription.Policy{{}, {Kind: subscription.Latest}} { // each has a stream
		b.want(b.connect(), tags.Of(0), policy)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	x := NewReceipt(0)
	if err := b.fan.Publish(0, 0, nil, x); err != nil {
		t.Fatal(err)
	}
	position, lost, err := x.Wait(ctx)
	if position != 2 || lost || !errors.Is(err, ErrLost) {
		t.Errorf("got %v of message %d, lost: %v; want ErrLost of 2, which is not certain to be lost", err, position, lost)
	}
}
