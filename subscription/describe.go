// SPDX-License-Identifier: Apache-2.0

package subscription

import "fmt"

// MaxDescribed limits the numbers of a Describe, each.
const MaxDescribed = 1 << 16

// Describe asks for the state of an instance. An observer sends it, and one at a time: the
// next when the answer to the last is whole.
type Describe struct {
	ID       uint64 `msgpack:"id"`                  // of the question, chosen by the observer; not 0
	Peers    int    `msgpack:"peers,omitempty"`     // how many peers the answer may name
	Busiest  int    `msgpack:"busiest,omitempty"`   // how many tags, of the highest rates
	LostTags int    `msgpack:"lost_tags,omitempty"` // how many tags each of the peers may name, of which it has lost most
	Set      []byte `msgpack:"set,omitempty"`       // the binary form of a tags.Set: tags that are asked for besides
}

// Description is a part of the answer to a Describe. The whole is the parts of all messages
// of this ID, put together: the JSON form of a state.State.
type Description struct {
	ID   uint64 `msgpack:"id"`
	Part []byte `msgpack:"part"`           // not empty
	More bool   `msgpack:"more,omitempty"` // further parts follow
}

// Kind implements Message.
func (*Describe) Kind() Kind { return KindDescribe }

// Kind implements Message.
func (*Description) Kind() Kind { return KindDescription }

func (m *Describe) validate() error {
	for _, limited := range []struct {
		field string
		n     int
	}{{"peers", m.Peers}, {"busiest", m.Busiest}, {"lost_tags", m.LostTags}} {
		if err := checkNumber(limited.field, limited.n, MaxDescribed); err != nil {
			return err
		}
	}
	return checkQuestion(m.ID)
}

func (m *Description) validate() error {
	if err := checkQuestion(m.ID); err != nil {
		return err
	}
	return checkFilled("part", m.Part)
}

func checkQuestion(id uint64) error {
	if id == 0 {
		return fmt.Errorf("id is 0: ids of questions begin at 1")
	}
	return nil
}
