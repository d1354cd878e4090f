// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mutual

import (
	"container/list"
	"net/netip"
)

// line has the connections that wait for their handshakes. Networks take turns, and within
// a network its addresses: so a stranger that begins any number of handshakes delays those
// of another address by one. A network is an IPv4 address, or 64 bits of an IPv6 address,
// of which a stranger has as many as it likes. What comes from one address waits in order.
type line struct {
	networks turns[netip.Prefix, *turns[netip.Addr, *list.List]]
	length   int
}

// turns are things by key, the one that is next first.
type turns[K comparable, V any] struct {
	order list.List // of *turn[K, V]
	at    map[K]*list.Element
}

type turn[K comparable, V any] struct {
	key   K
	value V
}

// get returns what has a key; made: by a call of create.
func (t *turns[K, V]) get(key K, create func() V) V {
	if e := t.at[key]; e != nil {
		return e.Value.(*turn[K, V]).value
	}
	if t.at == nil {
		t.at = make(map[K]*list.Element)
	}
	v := create()
	t.at[key] = t.order.PushBack(&turn[K, V]{key, v})
	return v
}

// remove takes out what has a key.
func (t *turns[K, V]) remove(key K) {
	t.order.Remove(t.at[key])
	delete(t.at, key)
}

// next returns what is next, which is last from now on.
func (t *turns[K, V]) next() (key K, v V) {
	e := t.order.Front()
	t.order.MoveToBack(e)
	n := e.Value.(*turn[K, V])
	return n.key, n.value
}

// networkOf returns the network and the address of a peer.
func networkOf(remote netip.Addr) (netip.Prefix, netip.Addr) {
	remote = remote.Unmap().WithZone("")
	bits := remote.BitLen()
	if remote.Is6() {
		bits = 64
	}
	network, _ := remote.Prefix(bits) // of an address with so many
	return network, remote
}

// add puts v behind the others of its address.
func (l *line) add(v *Visitor) {
	network, addr := networkOf(v.Remote)
	addrs := l.networks.get(network, func() *turns[netip.Addr, *list.List] { return &turns[netip.Addr, *list.List]{} })
	v.place = addrs.get(addr, list.New).PushBack(v)
	l.length++
}

// first takes out the one whose turn it is. There is one.
func (l *line) first() *Visitor {
	_, addrs := l.networks.next()
	_, waiting := addrs.next()
	first := waiting.Front().Value.(*Visitor)
	l.remove(first)
	return first
}

// remove takes out v.
func (l *line) remove(v *Visitor) {
	network, addr := networkOf(v.Remote)
	addrs := l.networks.get(network, nil)
	waiting := addrs.get(addr, nil)
	waiting.Remove(v.place)
	v.place = nil
	l.length--
	if waiting.Len() == 0 {
		addrs.remove(addr)
	}
	if addrs.order.Len() == 0 {
		l.networks.remove(network)
	}
}
