// SPDX-License-Identifier: Apache-2.0

package metrics

import "strings"

// role is what a publisher and a sender, or a subscriber and a receiver, do not have
// in common: the words in the names and the help of their metrics.
type role struct {
	self, peer    string // "publisher", "subscriber"
	send, sending string // "publish", "publishing"

	// Parts of the help.
	messages string
	fuller   string // what to do for fuller pages
}

// text puts the words of r in the place of those in capital letters.
func (r role) text(help string) string {
	return strings.NewReplacer(
		"SELF", r.self, "PEERS", strings.ToUpper(r.peer[:1])+r.peer[1:]+"s", "PEER", r.peer,
		"SENDING", r.sending, "SEND", r.send, "MESSAGES", r.messages, "FULLER", r.fuller,
	).Replace(help)
}

// name returns the name of a metric: tagbus, the role, and what follows.
func (r role) name(of string) string {
	if of == "" {
		return "tagbus_" + r.self
	}
	return "tagbus_" + r.self + "_" + r.text(of)
}
