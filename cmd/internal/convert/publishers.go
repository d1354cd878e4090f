// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"encoding/json"
	"net/netip"

	"tagbus/bus"
	"tagbus/internal/sanitize"
)

// publisher is a bus.Peer in JSON, with the names that other commands give it.
type publisher struct {
	Instance string `json:"instance,omitempty"`
	Name     string `json:"name,omitempty"`
	Host     string `json:"host,omitempty"`
	PID      int    `json:"pid,omitempty"`
	Address  string `json:"address,omitempty"`
}

// mostText is the most bytes of a text of a publisher that is written: options of pcapng
// have 16 bits for their length.
const mostText = 1024

// publisherOf returns a peer for JSON.
func publisherOf(p *bus.Peer) *publisher {
	if p == nil {
		return nil
	}
	out := &publisher{sanitize.Cut(p.Instance, mostText), sanitize.Cut(p.Name, mostText), sanitize.Cut(p.Host, mostText), p.PID, ""}
	if p.Addr.IsValid() {
		out.Address = sanitize.Cut(p.Addr.String(), mostText)
	}
	return out
}

// peer returns the peer that publisherOf was given.
func (p *publisher) peer() bus.Peer {
	address, _ := netip.ParseAddrPort(p.Address) // the zero value: not known
	return bus.Peer{Instance: p.Instance, Name: p.Name, Host: p.Host, PID: p.PID, Addr: address}
}

// describe returns a peer as JSON, "" for none.
func describe(p *bus.Peer) string {
	if p == nil {
		return ""
	}
	text, err := json.Marshal(publisherOf(p))
	if err != nil {
		return "" // never: it has only texts and a number
	}
	return string(text)
}

// described returns the peer that describe was given, and reports whether the text is of
// describe.
func described(text string) (bus.Peer, bool) {
	var p publisher
	if len(text) == 0 || text[0] != '{' || json.Unmarshal([]byte(text), &p) != nil {
		return bus.Peer{}, false
	}
	return p.peer(), true
}

// shown returns a peer for people, "" for none.
func shown(p *bus.Peer) string {
	if p == nil {
		return ""
	}
	return sanitize.Cut(sanitize.Line(p.String()), mostText)
}

// numbers gives each publisher a number, from 0 in the order of their first records. Equal
// ones have the same. No publisher has one too.
type numbers struct {
	byPointer map[*bus.Peer]int
	byValue   map[bus.Peer]int
}

// mostPointers bounds what is kept of equal publishers.
const mostPointers = 1 << 16

// of returns the number of a publisher, and reports whether it is new.
func (n *numbers) of(p *bus.Peer) (number int, isNew bool) {
	if number, ok := n.byPointer[p]; ok {
		return number, false
	}
	if n.byPointer == nil || len(n.byPointer) >= mostPointers {
		n.byPointer = make(map[*bus.Peer]int)
	}
	if n.byValue == nil {
		n.byValue = make(map[bus.Peer]int)
	}
	value := valueOf(p)
	number, ok := n.byValue[value]
	if !ok {
		number = len(n.byValue)
		n.byValue[value] = number
	}
	n.byPointer[p] = number
	return number, !ok
}

// valueOf returns what there is of a publisher; the zero value: there is none.
func valueOf(p *bus.Peer) bus.Peer {
	if p == nil {
		return bus.Peer{}
	}
	return *p
}
