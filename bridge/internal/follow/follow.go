// SPDX-License-Identifier: Apache-2.0

// Package follow follows the chains of a log for a reader, within bounds: what is in a log was written by others.
package follow

import (
	"fmt"
	"math"
	"math/bits"

	"tagbus/bridge/durable"
	"tagbus/bridge/record"
	"tagbus/internal/sanitize"
)

// MaxNameBytes bounds the names of all publishers together.
const MaxNameBytes = 64 << 20

// What there is too much of.
const (
	Keys      = "publishers and tags"
	NameBytes = "bytes of the names of publishers"
)

// mostShown is the most bytes of a publisher in an error.
const mostShown = 100

// TooManyError means that a log has, or is to have, more than a bridge keeps in memory.
type TooManyError struct {
	Log   string
	Key   durable.Key // the first that is too many
	What  string      // Keys or NameBytes
	Limit int
}

// Error names the limit, and what to do.
func (e *TooManyError) Error() string {
	return sanitize.Linef("bridge: %s: more than %d %s at once: take fewer tags, with another bridge for the others, or raise MaxChains; the first that is too many is tag %v of %s",
		e.Log, e.Limit, e.What, e.Key.Tag, sanitize.Cut(e.Key.Instance, mostShown))
}

// Parse reads the record of an entry, which is one of the entry's key: the tags that a reader has asked for are those of keys.
//
// Errors: a *record.FormatError, or one that names the other key.
func Parse(e durable.Entry) (*record.Record, error) {
	r, err := record.Parse(e.Data)
	if err == nil && (r.Tag != e.Key.Tag || r.Peer.Instance != e.Key.Instance) {
		return nil, fmt.Errorf("it is a record of tag %v from %v", r.Tag, r.Peer)
	}
	return r, err
}

// Chain is what is known of a publisher and tag, and what its reader keeps with it.
type Chain[T any] struct {
	record.Chain
	Key   durable.Key
	Value T
}

// Chains are those of a log. Log and Max have no default.
//
// Threads: one at a time.
type Chains[T any] struct {
	Log string
	Max int // publishers and tags

	chains map[durable.Key]*Chain[T]
	names  map[string]string // so that each is in memory once
	bytes  int
}

// Of returns the chain of a key, which may be new.
//
// Errors: a *TooManyError.
func (c *Chains[T]) Of(key durable.Key) (*Chain[T], error) {
	if known := c.chains[key]; known != nil {
		return known, nil
	}
	if len(c.chains) >= c.Max {
		return nil, &TooManyError{c.Log, key, Keys, c.Max}
	}
	name, ok := c.names[key.Instance]
	if !ok {
		if name = key.Instance; c.bytes+len(name) > MaxNameBytes {
			return nil, &TooManyError{c.Log, key, NameBytes, MaxNameBytes}
		}
		if c.names == nil {
			c.names, c.chains = make(map[string]string), make(map[durable.Key]*Chain[T])
		}
		c.bytes += len(name)
		c.names[name] = name
	}
	key.Instance = name
	known := &Chain[T]{Key: key}
	c.chains[key] = known
	return known, nil
}

// Len returns how many there are.
func (c *Chains[T]) Len() int { return len(c.chains) }

// All calls f for each, in any order.
func (c *Chains[T]) All(f func(*Chain[T])) {
	for _, known := range c.chains {
		f(known)
	}
}

// Sum adds counters of records. Where these are hostile the sum stays at its largest, so that it never becomes 0.
func Sum(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	if carry > 0 {
		return math.MaxUint64
	}
	return sum
}
