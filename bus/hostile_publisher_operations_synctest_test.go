// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"net/netip"
	"strings"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/subscription"
	"tagbus/tags"
)

// do does an operation.
func (x *roguePublishers) do(b byte) time.Duration {
	r := x.rogues[int(b>>5)%hostileRogues]
	switch b & 31 % pubOperations {
	case pubAnnounce:
		x.announce(r)
	case pubWithdraw:
		x.withdraw(r)
	case pubGreet:
		r.greeting = x.byte()
	case pubObey:
		r.obeys = x.byte()&1 == 0
	case pubSubscribed:
		r.control(&subscription.Subscribed{ID: r.id()})
	case pubUnsubscribed:
		r.control(&subscription.Unsubscribed{ID: r.id()})
	case pubPositions:
		r.control(&subscription.Positions{ID: r.id(), List: x.list()})
	case pubLost:
		r.control(&subscription.Lost{
			Lane: uint16(x.number()), Cause: subscription.Cause(1 + x.byte()%4), Total: x.byte()&1 != 0, List: x.list(),
		})
	case pubRefused:
		r.control(&subscription.Refused{ID: r.id(), Reason: strings.Repeat("\x1b", int(x.byte()))})
	case pubGoodbye:
		m := &subscription.Goodbye{Lane: uint16(x.number())}
		if x.byte()&1 != 0 {
			m.List = x.list()
		}
		r.control(m)
	case pubBeat:
		r.control(&subscription.Beat{})
	case pubPage:
		r.page()
	case pubRaw:
		r.raw()
	case pubMutate:
		x.mutate()
	case pubStop:
		r.read(false)
	case pubGoOn:
		r.read(true)
	case pubDisconnect:
		r.disconnect()
	case pubReset:
		if r.ep != nil {
			x.net.Reset(r.ep.Local(), r.ep.Remote())
		}
	case pubWait:
		return x.pause()
	case pubPublish:
		x.p.burst(hostileStrict)
	case pubRepeat:
		x.repeat()
	case pubChange:
		how := x.byte()
		var set tags.Set
		if set.UnmarshalLimited(x.set(), subscription.MaxParts, subscription.MaxMasks) == nil && !set.IsEmpty() {
			x.change(how, set)
		}
	case pubStats:
		x.stats()
	case pubNarrow:
		r.narrow()
	case pubRights:
		x.rights(r)
	case pubPolicy:
		x.policy()
	case pubWrong:
		x.wrong(r)
	}
	return 0
}

// announce lists a rogue in the directory with a set of tags, whatever that is.
func (x *roguePublishers) announce(r *roguePublisher) {
	sizes := x.byte()
	e := directory.Entry{
		Instance: r.instance, Backend: "memory", Addresses: []netip.AddrPort{r.at}, PageBytes: 1 << 14, MaxMessageBytes: 1 << 14,
	}
	switch sizes % 8 {
	case 1:
		e.MaxMessageBytes = 1 << 20 // more than the subscriber takes
	case 2:
		e.PageBytes, e.MaxMessageBytes = 1, 1
	case 3:
		e.Backend = "another"
	case 4:
		e.Addresses = append([]netip.AddrPort{netip.AddrPortFrom(r.host, 9)}, r.at)
	case 5:
		e.Since = time.Unix(1<<32, 0)
	}
	if x.round >= mostCalls || e.Tags.UnmarshalBinary(x.set()) != nil {
		return
	}
	if r.entry != nil {
		_ = r.entry.Update(e)
		return
	}
	entry, err := x.dir.Announce(e)
	must(x.t, err)
	r.entry = entry
}

// withdraw takes the entry of a rogue away, in order or as if it had been killed.
func (x *roguePublishers) withdraw(r *roguePublisher) {
	if x.byte()&1 != 0 {
		x.dir.Expire(r.instance, directory.ErrDead)
	} else if r.entry != nil {
		must(x.t, r.entry.Withdraw())
		r.entry = nil
	}
}

// page sends a page of messages of which each has another tag, or none has. A flag says
// that all are requests.
func (r *roguePublisher) page() {
	h := r.h
	flags, lane, n, first, size := h.byte()&7, h.number(), int(h.byte()), h.byte(), int(h.byte())
	requests := flags&4 != 0
	page := binary.LittleEndian.AppendUint16([]byte{1, flags &^ 4}, uint16(lane))
	page = binary.LittleEndian.AppendUint32(page, uint32(n))
	one := first&1 != 0
	for i := range n {
		head := uint32(size)
		if i == 0 || !one {
			head |= 1 << 31
		}
		if requests {
			page = append(binary.LittleEndian.AppendUint32(page, head|1<<30), 0)
		} else {
			page = binary.LittleEndian.AppendUint32(page, head)
		}
		if i == 0 || !one {
			page = binary.LittleEndian.AppendUint64(page, uint64(first)*8+uint64(i)+uint64(h.round)*uint64(n))
		}
		if flags&1 != 0 {
			page = binary.LittleEndian.AppendUint64(page, uint64(i+1+h.round))
		}
		page = append(page, bytes.Repeat([]byte{byte(size >> 5)}, size)...) // also the ids, of which zeros are none
	}
	r.send(page)
}

// change makes the subscriber want other tags.
func (x *roguePublishers) change(how byte, set tags.Set) {
	if x.round >= mostCalls {
		return // each call posts a function
	}
	switch sub := x.changed; {
	case sub == nil || how%4 == 3:
		if sub != nil {
			go func() { _ = sub.Unsubscribe(context.Background()) }()
		}
		next, err := x.s.SubscribeWith(set, ignore, bus.SubscriptionConfig{Replay: int(how >> 4), Duplicates: bus.Duplicates(how>>2) % 3})
		must(x.t, err)
		x.changed = next
	case how%4 == 1:
		_ = sub.Remove(set)
	default:
		_ = sub.Add(set)
	}
}

// stats asks for statistics of all tags.
func (x *roguePublishers) stats() {
	if x.asked++; x.asked <= 4 {
		go func() { _, _ = x.s.TagStats(context.Background()) }()
	}
}

// wrong says what a publisher does not.
func (x *roguePublishers) wrong(r *roguePublisher) {
	switch x.byte() % 5 {
	case 0:
		r.control(&subscription.Subscribe{ID: x.number(), Set: []byte{1, 1, 1, 0, 0}})
	case 1:
		r.control(&subscription.Unsubscribe{ID: x.number()})
	case 2:
		r.control(&subscription.Missed{Cause: 1, List: x.list()})
	case 3:
		r.control(&subscription.Received{Messages: x.number()})
	case 4:
		r.control(&subscription.Ack{Tag: x.number(), Position: 1})
	}
}
