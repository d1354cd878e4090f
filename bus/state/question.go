// SPDX-License-Identifier: Apache-2.0

package state

import "tagbus/tags"

const (
	// MaxPeers is how many peers, and how many gone ones, an answer has at most.
	MaxPeers = 4096

	// MaxTags is how many tags of each kind an answer has at most.
	MaxTags = 1024

	// MaxPatterns is how many patterns the tags of a question have at most. With more it is refused.
	MaxPatterns = 256

	// MaxLostTags is how many tags a peer names of which it has lost messages, and
	// maxAllLostTags how many all peers of an answer name together.
	MaxLostTags    = 64
	maxAllLostTags = 1 << 16

	// MaxWanted is how many tags a question may ask for to be told which lanes want them.
	MaxWanted = 16

	// MaxReason limits Peer.Reason, in bytes.
	MaxReason = 255

	// MaxTagsText limits State.Tags, in bytes.
	MaxTagsText = 1024
)

// Question says how much an answer is to have. The zero value asks for what is of the
// instance as a whole.
type Question struct {
	Peers    int      // at most so many peers, and so many gone ones; up to MaxPeers
	Busiest  int      // at most so many tags, of the highest rates; up to MaxTags
	LostTags int      // of each of the peers, at most so many tags of which it has lost most; up to MaxLostTags, and 65,536 of all
	Tags     tags.Set // and these, as far as there were messages of them; up to MaxTags; of at most MaxPatterns patterns
}

// Bounded returns the question within the limits.
func (q Question) Bounded() Question {
	q.Peers = max(0, min(q.Peers, MaxPeers))
	q.Busiest = max(0, min(q.Busiest, MaxTags))
	q.LostTags = max(0, min(q.LostTags, MaxLostTags, maxAllLostTags/max(1, 2*q.Peers)))
	return q
}

// Lost returns the sum of some losses.
func Lost(losses []Loss) (messages uint64) {
	for _, l := range losses {
		messages += l.Messages
	}
	return messages
}
