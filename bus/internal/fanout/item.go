// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"tagbus/bus/internal/ledger"
	"tagbus/netio"
)

// item is one transport message to a subscriber: a page or a note. There may be very many
// in a queue, so it is small.
type item struct {
	page *page
	note *note
}

// note is a control message, or what becomes some.
type note struct {
	lane    *Lane // nil for what belongs to the connection
	control []byte
	losses  *ledger.Notice // to become control messages
	last    bool           // close the connection when it is sent
}

// flight is an item that the endpoint has.
type flight struct {
	item
	lane *Lane     // that a page is sent for, or that of the note
	key  netio.Key // that its completion has to name
}

// lost reports whether the item is a notice of losses.
func (i *item) lost() bool { return i.note != nil && i.note.losses != nil }

// bytes returns what the item takes in a transport message.
func (i *item) bytes() int {
	if i.page != nil {
		return i.page.bytes
	}
	return len(i.note.control)
}
