// SPDX-License-Identifier: Apache-2.0

package fanout

// A page of a lane that is busy would only wait in its queue. The stream waits instead, and
// its page becomes fuller.

// busyFor reports whether a page sealed now would only wait in the queue. If so, the stream
// is scheduled as soon as that changes.
func (n *Lane) busyFor(s *stream) bool {
	n.out.mu.Lock()
	defer n.out.mu.Unlock()
	if !n.busy() && !n.lacks(s) {
		return false
	}
	if n.awaited == nil {
		n.awaited = make(map[*stream]struct{})
	}
	n.awaited[s] = struct{}{}
	return true
}

// forgetStream ends the wait of a stream that is gone.
func (n *Lane) forgetStream(s *stream) {
	n.out.mu.Lock()
	delete(n.awaited, s)
	n.out.mu.Unlock()
}

// busy reports whether a further page would only wait in the queue. Outbox.mu is held.
func (n *Lane) busy() bool {
	box := n.out
	return !box.dead && (n.queue.Len() > 0 || n.held.Len() > 0 || box.inFlightBytes >= box.window)
}

// lacks reports whether what the policy Latest keeps back would be lost, since the lane has no
// room for all of it yet. Each completion makes more. The mutex of s is held, and Outbox.mu.
func (n *Lane) lacks(s *stream) bool {
	if n.out.dead || s.solo == nil || s.solo.latest == nil {
		return false
	}
	now := n.pinned.Load()
	return now > 0 && now+int64(s.solo.latest.bytes) > n.limit
}

// relieve schedules the streams that wait for lanes which are not busy any more. mu is held.
func (box *Outbox) relieve() {
	for _, n := range box.Lanes {
		if len(n.awaited) > 0 && !n.busy() {
			for s := range n.awaited {
				box.fan.schedule(0, s)
			}
			clear(n.awaited)
		}
	}
}
