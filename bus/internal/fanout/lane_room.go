// SPDX-License-Identifier: Apache-2.0

package fanout

import "tagbus/subscription"

// roomShare is the part of a lane that is free before a page is opened, unless the page is
// smaller. With little room pages would be short, and sending many short pages takes so
// long that the lane stays full.
const roomShare = 16

// hasRoom reports whether a page may be opened. A lane that holds nothing gets any page,
// so that the largest message always fits.
//
//   - need: bytes of the first message.
//   - want: bytes of the page.
func (n *Lane) hasRoom(need, want int64) bool { return n.shortOf(need, want) == 0 }

// shortOf returns what a page lacks that may not be opened: CauseMemory if all lanes that may lose
// messages have no room, or else CauseFull for that of the lane itself. 0: it may (hasRoom).
func (n *Lane) shortOf(need, want int64) subscription.Cause {
	need = max(need, min(want, n.limit/roomShare))
	switch now := n.pinned.Load(); {
	case !n.Policy.Lossless() && n.out.fan.lossyFull(need):
		return subscription.CauseMemory
	case now > 0 && now+need > n.limit && !n.dead.Load():
		return subscription.CauseFull
	}
	return 0
}

// lossyFull reports whether the lossy lanes together have no room for so many bytes. They
// may not have all pages either, if these are very short.
func (fan *Fanout) lossyFull(bytes int64) bool {
	if fan.lossyPages.Load() >= fan.lossyMost {
		return true
	}
	room := fan.lossyRoom()
	return room < fan.lossyBytes && room < bytes
}

// reserve takes room for a page and returns how much: want, or as much as there is, but
// need at least. If the lane has no room and its policy makes none, it does not get the
// messages: the result is -shortOf. openMu is held. For a lossless lane the caller has
// checked hasRoom.
func (n *Lane) reserve(need, want int64) int64 {
	room := n.room()
	if !n.Policy.Lossless() {
		if cause := n.shortOf(need, want); cause != 0 && (n.Policy.Kind != subscription.DropOldest || !n.dropOldest(need, want)) {
			return -int64(cause)
		}
		room = min(n.room(), n.out.fan.lossyRoom())
	}
	room = max(need, min(want, room))
	n.pin(room)
	n.countPage(1)
	return room
}

// room returns how many bytes of pages the lane may hold further.
func (n *Lane) room() int64 {
	if n.dead.Load() {
		return n.limit
	}
	return n.limit - n.pinned.Load()
}

// countPage counts pages that the lane is going to have, or has no longer.
func (n *Lane) countPage(by int64) {
	if !n.Policy.Lossless() {
		n.out.fan.lossyPages.Add(by)
	}
}

// pin counts bytes that the lane holds.
func (n *Lane) pin(bytes int64) {
	if !n.Policy.Lossless() {
		n.out.fan.lossyPinned.Add(bytes)
	}
	n.pinned.Add(bytes)
}

// unpin counts bytes that the lane does not hold any more. It reports whether roomFreed
// is to be called: a message was refused, and a quarter of the lane is free. A goroutine
// that is woken for each page fills only that one, and the switch costs more than the
// page. The room is freed before refuses is read: "Wake-ups" in the package comment.
func (n *Lane) unpin(bytes int64) (tell bool) {
	left := n.pinned.Add(-bytes)
	if !n.Policy.Lossless() {
		n.out.fan.lossyPinned.Add(-bytes)
		return false
	}
	return n.refuses.Load() && left <= n.limit*3/4 && n.refuses.Swap(false)
}
