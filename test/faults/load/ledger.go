// SPDX-License-Identifier: Apache-2.0

//go:build linux

package load

import (
	"tagbus/bus"
	"tagbus/tags"
	"tagbus/test/faults/internal/check"
	"tagbus/test/faults/internal/record"
)

// ledger is the record of a subscriber. A stream that its reader has judged gives its slot back, so that a
// record does not grow with the publishers that come and go.
//
// Threads: the loop.
type ledger struct {
	slots  []check.Got
	free   []*check.Got
	judges map[*bus.Peer]map[tags.Tag]*check.Judge
	byName map[check.Name]map[tags.Tag]*check.Got
}

// newLedger makes the record.
//
// Errors: those of the record.
func newLedger(path string, n int) (ledger, error) {
	slots, err := record.Create[check.Got](path, n)
	l := ledger{slots: slots, judges: make(map[*bus.Peer]map[tags.Tag]*check.Judge), byName: make(map[check.Name]map[tags.Tag]*check.Got)}
	for i := range slots {
		l.free = append(l.free, &slots[len(slots)-1-i])
	}
	return l, err
}

// judge returns what judges the messages of a tag of a publisher. It stays when the connection does not.
func (l *ledger) judge(peer *bus.Peer, tag tags.Tag) *check.Judge {
	judges := l.judges[peer]
	if judges == nil {
		judges = l.known(peer)
	}
	j := judges[tag]
	if j == nil {
		j = check.NewJudge(l.slot(peer.Instance, tag), peer.Instance, uint64(tag))
		judges[tag] = j
	}
	return j
}

// known returns the judges of a publisher.
func (l *ledger) known(peer *bus.Peer) map[tags.Tag]*check.Judge {
	for other, judges := range l.judges {
		if other.Instance == peer.Instance {
			delete(l.judges, other)
			l.judges[peer] = judges
			return judges
		}
	}
	l.judges[peer] = make(map[tags.Tag]*check.Judge)
	return l.judges[peer]
}

// slot returns where a stream is written down.
func (l *ledger) slot(publisher string, tag tags.Tag) *check.Got {
	name := check.NameOf(publisher)
	if got := l.byName[name][tag]; got != nil {
		return got
	}
	if len(l.free) == 0 {
		l.prune()
	}
	if len(l.free) == 0 {
		panic("load: more streams than a record has slots for")
	}
	if l.byName[name] == nil {
		l.byName[name] = make(map[tags.Tag]*check.Got)
	}
	got := l.free[len(l.free)-1]
	l.free = l.free[:len(l.free)-1]
	*got = check.Got{Publisher: name, Tag: uint64(tag)}
	l.byName[name][tag] = got
	return got
}

// ended notes that a publisher has ended, in order or not.
func (l *ledger) ended(publisher string, inOrder bool) {
	for _, got := range l.byName[check.NameOf(publisher)] {
		if inOrder {
			got.Goodbye = 1
		} else {
			got.Vanished = 1
		}
	}
}

// back notes that a publisher which had vanished is there.
func (l *ledger) back(publisher string) {
	for _, got := range l.byName[check.NameOf(publisher)] {
		got.Vanished = 0
	}
	l.prune()
}

// prune takes back the slots of streams that were judged.
func (l *ledger) prune() {
	for name, streams := range l.byName {
		for tag, got := range streams {
			if got.Judged != 0 {
				delete(streams, tag)
				l.free = append(l.free, got)
			}
		}
		if len(streams) > 0 {
			continue
		}
		delete(l.byName, name)
		for peer := range l.judges {
			if check.NameOf(peer.Instance) == name {
				delete(l.judges, peer)
			}
		}
	}
}
