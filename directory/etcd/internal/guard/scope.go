// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"bytes"

	"tagbus/bus/directory"
)

// Keys as package directory/etcd has them: root, the name of a bus, a slash, and one of these
// or entries with an instance behind it. Clients, which are subscribers and senders, have the
// same once more behind clients.
const (
	root    = "/tagbus/"
	clients = "x/"
	entries = "e/"
	note    = "withdrawn"
	epoch   = "begun"
)

// busOf returns the prefix of the bus of a key, and what stands behind it; ok is false if it is
// of none.
func busOf(key []byte) (prefix, rest []byte, ok bool) {
	behind, ok := bytes.CutPrefix(key, []byte(root))
	if !ok {
		return nil, nil, false
	}
	name, rest, ok := bytes.Cut(behind, []byte("/"))
	if !ok || !directory.ValidInstance(string(name)) {
		return nil, nil, false
	}
	return key[:len(key)-len(rest)], rest, true
}

// place is where a key stands.
type place struct {
	name     string // behind the bus
	instance string // whose entry it is; empty: it is none
	clients  bool   // it is about subscribers and senders
}

// placeOf returns where a key stands; ok is false if a bus has none such.
func placeOf(key []byte) (p place, ok bool) {
	_, rest, ok := busOf(key)
	if !ok {
		return p, false
	}
	rest, p.clients = bytes.CutPrefix(rest, []byte(clients))
	p.name = string(rest)
	if behind, found := bytes.CutPrefix(rest, []byte(entries)); found {
		p.instance = string(behind)
		return p, directory.ValidInstance(p.instance)
	}
	return p, p.name == note || p.name == epoch
}

// inBus returns nil if a key, or all keys up to an end, are those of one bus.
func (g *Guard) inBus(caller Caller, method string, key, end []byte) error {
	prefix, _, ok := busOf(key)
	if ok && len(end) > 0 {
		last := append(bytes.Clone(prefix[:len(prefix)-1]), '/'+1) // behind all keys with the prefix
		ok = bytes.Compare(end, key) > 0 && bytes.Compare(end, last) <= 0
	}
	if !ok {
		return g.refuse(caller, method, "a client reads keys of one bus alone, those that begin with /tagbus/NAME/; of the others "+g.Hint)
	}
	return nil
}
