// SPDX-License-Identifier: Apache-2.0

package lossfile

import (
	"errors"

	"tagbus/bus"
	"tagbus/bus/state"
)

// gaps are the causes of events about lost messages.
var gaps = []struct {
	err   error
	cause state.Cause
}{
	{bus.ErrTooSlow, state.Full},
	{bus.ErrPublisherMemory, state.Memory},
	{bus.ErrConnectionLost, state.Connection},
	{bus.ErrPublisherEnded, state.Ended},
	{bus.ErrQueueFull, state.Overflow},
}

// AddEvent adds the loss that an event of a subscriber is about, if it is about one.
//
//   - policy: of the subscription.
//   - Blocks: never; it may be called on a loop.
func (w *Writer) AddEvent(e bus.Event, policy string) {
	if w == nil || e.Kind != bus.Gap || e.Peer == nil {
		return
	}
	for _, g := range gaps {
		if errors.Is(e.Err, g.err) {
			w.Add(Peer{e.Peer.Instance, e.Peer.Name, e.Peer.Host}, e.Tag, policy, g.cause, e.Count)
			return
		}
	}
}
