// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"fmt"
	"slices"
	"time"

	"tagbus/subscription"
	"tagbus/tags"
)

// do does an operation.
func (x *rogueSubscribers) do(b byte) time.Duration {
	r := x.rogues[b>>5]
	switch b & 31 % subOperations {
	case subConnect:
		x.connect(r, int(b>>5), "")
	case subSubscribe:
		x.subscribe(r)
	case subUnsubscribe:
		r.control(&subscription.Unsubscribe{ID: x.number()})
	case subPositions:
		r.control(&subscription.Positions{ID: x.number(), List: x.list()})
	case subMissed:
		lane, cause := uint16(x.number()), x.byte()
		if cause < 128 {
			r.control(&subscription.Missed{Lane: lane, Cause: subscription.Cause(1 + cause%4), List: x.list()})
			break
		}
		r.control(&subscription.Dropped{Lane: lane, Cause: subscription.CauseOverflow + subscription.Cause(cause%2), Messages: x.number(), List: x.list()})
	case subReceived:
		r.control(&subscription.Received{Lane: uint16(x.number()), Messages: x.number()})
	case subGoodbye:
		r.control(&subscription.Goodbye{})
	case subBeat:
		r.control(&subscription.Beat{})
	case subAck:
		r.control(&subscription.Ack{Tag: x.number(), Position: x.number(), Failed: x.byte()&1 != 0})
	case subRaw:
		r.raw()
	case subMutate:
		x.mutate()
	case subStop:
		r.read(false)
	case subGoOn:
		r.read(true)
	case subDisconnect:
		r.disconnect()
	case subReset:
		if r.ep != nil {
			x.net.Reset(r.ep.Local(), r.ep.Remote())
		}
	case subWait:
		return x.pause()
	case subPublish:
		x.p.burst(hostileKnown)
	case subRepeat:
		x.repeat()
	case subTags:
		x.changeTags()
	case subNarrow:
		r.narrow()
	case subWrong:
		x.wrong(r)
	case subObserve:
		x.connect(r, int(b>>5), subscription.RoleObserver)
	case subDescribe:
		r.control(&subscription.Describe{ID: x.number(), Peers: int(x.number() & 0xffff), Busiest: int(x.number() & 0xffff), Set: x.set()})
	case subDenied:
		r.control(&subscription.Denied{Set: x.set()})
	case subPolicy:
		x.policy()
	}
	return 0
}

// connect connects with a hello, or says another one on the connection there is.
func (x *rogueSubscribers) connect(r *rogue, peer int, role string) {
	kind, beats := x.byte(), x.byte()
	h := subscription.Hello{Instance: fmt.Sprint("rogue ", peer), Role: role, MaxMessageBytes: 1 << 30, BeatMillis: int(beats) * 10}
	switch kind % 8 {
	case 1:
		h.Instance = "rogue" // of all
	case 2:
		h.Instance = fmt.Sprint("rogue ", x.round, " ", x.operations)
	case 3:
		h.Expect = "another"
	case 4:
		h.Role = subscription.RoleSender
	case 5:
		h.MaxMessageBytes = int(beats)
	}
	b, err := subscription.AppendHello(nil, h)
	must(x.t, err)
	switch kind % 8 {
	case 6:
		b = otherVersion(b)
	case 7:
		b = nil // silence
	}
	if r.ep == nil && !r.dialing {
		r.dialing = r.backend.OpenEndpoint(x.p.Addr(), r.params()) == nil
	}
	if b != nil {
		r.send(b)
	}
}

// subscribe sends the parts of a subscription.
func (x *rogueSubscribers) subscribe(r *rogue) {
	m := subscription.Subscribe{ID: x.number()}
	lane, flags := x.byte(), x.byte()
	m.Lane, m.Policy = uint16(lane>>4), hostilePolicies[lane&15]
	if flags&1 != 0 {
		m.ID += uint64(x.round)
	}
	if flags&2 != 0 {
		m.Lane += uint16(x.round)
	}
	m.Resume, m.WithNext = flags&4 != 0, flags&8 != 0
	unfinished := flags&16 != 0
	if flags&32 != 0 {
		m.Replay = x.number()
	}
	if flags&64 != 0 {
		m.BacklogBytes = x.number()
	}
	if flags&128 != 0 && m.Policy == "disconnect:3s" {
		m.Policy = fmt.Sprintf("disconnect:%dms", 3000-10*x.round) // a little shorter than the last
	}
	if x.wire >= mostWireBytes || x.messages == mostMessages || r.ep == nil && !r.dialing {
		return
	}
	set := x.set()
	for chunk := range slices.Chunk(set, 16<<10-256) {
		set = set[len(chunk):]
		part := m
		part.Set, part.More = chunk, len(set) > 0 || unfinished
		part.WithNext = m.WithNext && !part.More
		r.control(&part)
	}
}

// changeTags makes the honest publisher stop serving a tag, or serve it again.
func (x *rogueSubscribers) changeTags() {
	first, add := tags.Tag(x.byte())*8, x.byte()&1 != 0
	set, err := tags.Range(hostileKnown/2+first, hostileKnown/2+first+63)
	must(x.t, err)
	if add {
		_ = x.p.AddTags(set)
	} else {
		_ = x.p.RemoveTags(set)
	}
}

// wrong says what a subscriber does not.
func (x *rogueSubscribers) wrong(r *rogue) {
	switch x.byte() % 5 {
	case 0:
		r.control(&subscription.Subscribed{ID: x.number()})
	case 1:
		r.control(&subscription.Refused{ID: x.number(), Reason: "no"})
	case 2:
		r.control(&subscription.Lost{Cause: 1, List: x.list()})
	case 3:
		r.control(&subscription.Goodbye{List: x.list()})
	case 4:
		r.send([]byte{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0x80, 1, 0, 0, 0, 0, 0, 0, 0, 'x'})
	}
}
