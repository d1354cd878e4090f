// SPDX-License-Identifier: Apache-2.0

package tcp

import "tagbus/netio"

// Receivers are receivers without sockets that share memory and a scratch, as
// those of a backend.
type Receivers struct {
	memory  memory
	scratch scratch
	all     []*receiver
}

// NewReceivers returns n of them.
func NewReceivers(n int, p netio.ReceiveParams) (*Receivers, error) {
	rs := &Receivers{all: make([]*receiver, n)}
	var err error
	if rs.scratch.block, err = rs.memory.get(scratchBytes); err != nil {
		return nil, err
	}
	for i := range rs.all {
		rs.all[i] = &receiver{}
		rs.all[i].init(&rs.memory, &rs.scratch, p)
	}
	return rs, nil
}

// Turn is a turn of the ith receiver, see Receiver.Turn. deliver may call
// retain.
func (rs *Receivers) Turn(i int, data []byte, deliver func(message []byte, retain func() netio.Retained)) error {
	r := rs.all[i]
	retain := func() netio.Retained { return r.retain() }
	for {
		for {
			message, err := r.next()
			if err != nil {
				return err
			}
			if message == nil {
				break
			}
			deliver(message, retain)
		}
		if len(data) == 0 {
			return r.park()
		}
		room, err := r.room(mostReadBudget)
		if err != nil {
			return err
		}
		n := copy(room, data)
		r.grown(n)
		data = data[n:]
	}
}

// UsedBytes returns the memory that is in use, except the scratch.
func (rs *Receivers) UsedBytes() int {
	used, _ := rs.memory.sizes()
	return used - scratchBytes
}

// Close returns the memory.
func (rs *Receivers) Close() {
	for _, r := range rs.all {
		r.release()
	}
	rs.memory.put(rs.scratch.block)
	rs.memory.close()
}
