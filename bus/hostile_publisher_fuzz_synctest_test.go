// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"tagbus/bus"
	"tagbus/netio"
)

// FuzzHostilePublisher runs several hostile publishers by the input, against a
// subscriber that has an honest one too. What must hold is the same as in
// FuzzHostileSubscriber.
func FuzzHostilePublisher(f *testing.F) {
	for _, seed := range hostilePublisherSeeds() {
		f.Add(slices.Concat(seed...))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) > mostOperations*operationBytes {
			t.Skip("longer than a program is")
		}
		t.Cleanup(bus.SetSliceSteps(hostileSlice))
		synctest.Test(t, func(t *testing.T) {
			x := newRoguePublishers(t, input, false)
			x.run(x.s, x.do)
			x.checkAll()
		})
	})
}

var _ netio.Handler = (*roguePublisher)(nil)

// hostilePublisherSeeds are programs for the rows of issue 12.
func hostilePublisherSeeds() [][][]byte {
	const single, some, everything, ranges, someMasks, tooMany = 0, 1, 3, 5, 6, 7
	listed := func(peer int) []byte { // with 2,040 tags, and obeys
		return slices.Concat(byPeer(peer, pubAnnounce, 0, some, 0, 255), byPeer(peer, pubWait, 2))
	}
	return [][][]byte{
		{ // 1, 2: lists of losses, again and again
			listed(0), byPeer(0, pubRepeat, 200), byPeer(0, pubLost, 0, 0, 0, 1, 0, 255, 1), byPeer(0, pubWait, 3),
			byPeer(0, pubStats), byPeer(0, pubRepeat, 100), byPeer(0, pubLost, 0, 1, 1, 133, 0, 255, 7), byPeer(0, pubPublish, 0, 255, 3), byPeer(0, pubWait, 3),
		},
		{ // 2: pages of other tags, and changes of what is wanted
			listed(0), byPeer(0, pubRepeat, 9), byPeer(0, pubPage, 0, 0, 200, 2, 8), byPeer(0, pubRepeat, 30), byPeer(0, pubPage, 1, 1, 200, 64, 8),
			byPeer(0, pubRepeat, 20), byPeer(0, pubChange, 0, ranges, 0, 20), byPeer(0, pubRepeat, 20), byPeer(0, pubChange, 1, ranges, 0, 20), byPeer(0, pubWait, 3),
		},
		{ // requests, and then such without an id
			listed(0), byPeer(0, pubRepeat, 9), byPeer(0, pubPage, 4, 0, 200, 3, 40), byPeer(0, pubRepeat, 9), byPeer(0, pubPage, 5, 1, 200, 2, 40),
			byPeer(0, pubPage, 4, 0, 20, 3, 8), byPeer(0, pubWait, 3), listed(1), byPeer(1, pubPage, 4, 0, 20, 3, 20), byPeer(1, pubWait, 3),
		},
		{ // 4: very many tags are wanted
			byPeer(0, pubAnnounce, 0, everything), byPeer(0, pubWait, 2), byPeer(0, pubChange, 0, ranges, 0, 255), byPeer(0, pubRepeat, 50),
			byPeer(0, pubPositions, 2, 1, 0, 255, 1), byPeer(0, pubSubscribed, 2), byPeer(0, pubWait, 3),
		},
		{ // 5: beats, and greetings of all kinds
			byPeer(0, pubGreet, 0x10), listed(0), byPeer(1, pubGreet, 1), listed(1), byPeer(2, pubGreet, 4), listed(2), byPeer(3, pubGreet, 7), listed(3),
			byPeer(0, pubBeat), byPeer(0, pubWait, 4), byPeer(1, pubGreet, 2), byPeer(2, pubGreet, 5), byPeer(3, pubGreet, 6), byPeer(0, pubWait, 6),
		},
		{ // 7: entries and subscriptions of many masks
			byPeer(0, pubAnnounce, 0, tooMany, 0, 255), byPeer(1, pubAnnounce, 0, someMasks, 0, 255), byPeer(2, pubAnnounce, 0, someMasks, 1, 255), byPeer(0, pubWait, 2),
			byPeer(0, pubRepeat, 5), byPeer(0, pubChange, 0, someMasks, 0, 100), byPeer(1, pubRepeat, 9), byPeer(1, pubAnnounce, 0, someMasks, 1, 200), byPeer(0, pubWait, 3),
		},
		{ // 8: messages that never end
			listed(0), byPeer(0, pubNarrow, 1), byPeer(0, pubPage, 0, 0, 200, 2, 60), byPeer(0, pubMutate, 0, 9), byPeer(0, pubPage, 0, 0, 20, 2, 60), byPeer(0, pubWait, 5),
			byPeer(0, pubDisconnect), byPeer(0, pubWait, 3),
		},
		{ // 9: listed, and silent
			byPeer(0, pubGreet, 3), listed(0), byPeer(1, pubObey, 1), listed(1), byPeer(2, pubStop), listed(2), byPeer(0, pubWait, 6),
		},
		{ // 10: positions again and again, and the answers are not read
			byPeer(0, pubObey, 1), listed(0), byPeer(0, pubStop), byPeer(0, pubNarrow, 3), byPeer(0, pubLost, 0, 1, 0, 1, 0, 255, 9),
			byPeer(0, pubRepeat, 100), byPeer(0, pubPositions, 0, 1, 0, 255, 100), byPeer(0, pubWait, 3), byPeer(0, pubWait, 6),
		},
		{ // 11: counts near 2^64
			byPeer(0, pubObey, 1), listed(0), byPeer(0, pubPositions, 0, 0, 5, 0, 0xf4, 9), byPeer(0, pubWait, 3), byPeer(0, pubSubscribed, 0), byPeer(0, pubLost, 0, 0, 0, 0, 5, 0, 0xf0),
			byPeer(0, pubLost, 0, 0, 0, 0, 5, 0, 0xf0), byPeer(0, pubWait, 3), byPeer(0, pubLost, 0, 3, 1, 0, 5, 0, 0xf3), byPeer(0, pubWait, 3),
			byPeer(0, pubGoodbye, 0, 1, 0, 5, 0, 0xf2), byPeer(0, pubWait, 3),
		},
		{ // 12: pages of lanes that there are not, and instances that come and go
			listed(0), byPeer(0, pubPage, 0, 0xf5, 2, 2, 1), byPeer(0, pubWait, 3), byPeer(0, pubWithdraw), byPeer(0, pubWait, 1), byPeer(0, pubAnnounce, 5, single, 3), byPeer(0, pubWait, 2),
			byPeer(0, pubWithdraw, 1), byPeer(0, pubReset), byPeer(0, pubWait, 4), listed(1), byPeer(1, pubGoodbye), byPeer(1, pubWait, 3), byPeer(1, pubRefused, 0, 200), byPeer(1, pubRefused, 128, 200),
		},
		{ // duplicates of each kind, and what is not of a publisher
			listed(0), byPeer(1, pubAnnounce, 5, some, 0, 255), byPeer(0, pubChange, 3|1<<2, some, 0, 255), byPeer(0, pubWait, 2), byPeer(0, pubPage, 0, 0, 9, 2, 8),
			byPeer(1, pubUnsubscribed, 0), byPeer(0, pubChange, 3|2<<2, some, 0, 255), byPeer(0, pubWait, 2), byPeer(0, pubWrong, 1), byPeer(0, pubWait, 2), byPeer(0, pubStats),
		},
	}
}
