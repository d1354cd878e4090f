// SPDX-License-Identifier: Apache-2.0

package state

import "tagbus/tags"

const (
	// MaxPeers is how many peers, and how many gone ones, an answer has at most.
	MaxPeers = 4096

	// MaxTags is how many tags of each kind an answer has at most.
	MaxTags = 1024

	// MaxReason limits Peer.Reason, in bytes.
	MaxReason = 255

	// MaxTagsText limits State.Tags, in bytes.
	MaxTagsText = 1024
)

// Question says how much an answer is to have. The zero value asks for what is of the
// instance as a whole.
type Question struct {
	Peers   int      // at most so many peers, and so many gone ones; up to MaxPeers
	Busiest int      // at most so many tags, of the highest rates; up to MaxTags
	Tags    tags.Set // and these, as far as there were messages of them; up to MaxTags
}

// Bounded returns the question within the limits.
func (q Question) Bounded() Question {
	q.Peers = max(0, min(q.Peers, MaxPeers))
	q.Busiest = max(0, min(q.Busiest, MaxTags))
	return q
}

// Lost returns the sum of some losses.
func Lost(losses []Loss) (messages uint64) {
	for _, l := range losses {
		messages += l.Messages
	}
	return messages
}
