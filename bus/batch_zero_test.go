// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"testing"

	"tagbus/bus"
)

// TestTheZeroBatchIsEmpty: it is what functions return beside an error.
func TestTheZeroBatchIsEmpty(t *testing.T) {
	var b bus.Batch
	b.Rows(nil)
	b.Release()
	if b.Len() != 0 || b.HasRequests() || b.Publisher() != nil || len(b.AppendTo(nil)) != 0 {
		t.Errorf("got %d messages, requests %v, publisher %v", b.Len(), b.HasRequests(), b.Publisher())
	}
	if err := b.Retain(); !errors.Is(err, bus.ErrMessageOver) {
		t.Errorf("Retain: got %v", err)
	}
}

func TestRetainBatchOfNoneKeepsNothing(t *testing.T) {
	kept, err := bus.RetainBatch(nil)
	if err != nil {
		t.Fatal(err)
	}
	kept.Release()
}
