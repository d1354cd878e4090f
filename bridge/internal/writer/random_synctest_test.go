// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/memlog"
	"tagbus/bridge/internal/writer"
)

// fates returns what becomes of appends: most are stored, and each way to fail is frequent.
func fates(seed *rand.Rand) func(durable.Append) memlog.Fate {
	r := rand.New(rand.NewPCG(seed.Uint64(), 0)) // of the goroutine that appends
	pause := func() time.Duration { return time.Duration(r.IntN(4)) * time.Millisecond }
	return func(durable.Append) memlog.Fate {
		f := memlog.Fate{Store: pause(), Answer: pause()}
		switch r.IntN(10) {
		case 0:
			f.Lost = true
		case 1:
			f.Silent = true
		case 2: // it is stored long after it is given up
			f.Silent, f.Store = true, time.Duration(r.IntN(60))*time.Millisecond
		}
		return f
	}
}

// life is a random life of publishers, bridges that are killed, and a log that fails.
type life struct {
	t    *testing.T
	r    *rand.Rand
	log  *memlog.Log
	w    *writer.Writer
	keys []*published
}

// published is what was published of a key.
type published struct {
	peer   *bus.Peer
	tag    tags.Tag
	count  uint64
	before uint64          // at the start of this bridge
	lost   uint64          // since then
	given  map[uint64]bool // to a bridge that stored all
	fresh  []uint64        // to this bridge
}

// begin begins a bridge, to which the publishers send again some of what they have kept.
func (l *life) begin() {
	l.w, _ = open(l.t, l.log, func(cfg *writer.Config) {
		cfg.MaxFlights, cfg.RecordMessages = 1+l.r.IntN(8), l.r.IntN(2)*l.r.IntN(20)
		cfg.RecordBytes = 1 << (10 + l.r.IntN(4))
	})
	for _, k := range l.keys {
		k.fresh, k.lost = nil, 0
		k.before = k.count - min(k.count, uint64(l.r.IntN(6)))
		for n := k.before + 1; n <= k.count; n++ {
			l.w.Page(time.Now(), page(k.peer, k.tag, n)) // some may be in the log as lost
		}
	}
}

// step does something.
func (l *life) step() {
	k := l.keys[l.r.IntN(len(l.keys))]
	switch n := l.r.IntN(100); {
	case n < 60:
		for range 1 + l.r.IntN(8) {
			k.count++
			l.w.Page(time.Now(), page(k.peer, k.tag, k.count))
			k.fresh = append(k.fresh, k.count)
		}
	case n < 70: // lost on the way, and told at some time
		lost := 1 + uint64(l.r.IntN(3))
		k.count += lost
		k.lost += lost
	case n < 80:
		settle(l.w, k.peer, k.tag, k.before, k.count, full(k.lost))
	case n < 90:
		time.Sleep(time.Duration(l.r.IntN(30)) * time.Millisecond)
	case n < 93:
		l.log.SetAway(l.r.IntN(2) == 0)
	case n < 96:
		kill(l.w, l.log)
		l.log = l.log.Reopen(fates(l.r))
		l.begin()
	case n < 98:
		l.finish()
		l.begin()
	}
}

// finish ends the bridge in order: what was given to it is in the log then.
func (l *life) finish() {
	l.log.SetAway(false)
	for _, k := range l.keys {
		settle(l.w, k.peer, k.tag, k.before, k.count, full(k.lost))
	}
	closeWriter(l.t, l.w)
	for _, k := range l.keys {
		for _, n := range k.fresh {
			k.given[n] = true
		}
	}
}

// check compares the log with what was published.
func (l *life) check() {
	all := read(l.t, l.log)
	for _, k := range l.keys {
		if k.count == 0 {
			continue
		}
		c := all[durable.Key{Tag: k.tag, Instance: k.peer.Instance}]
		if c == nil || c.begin < 1 || c.next != k.count+1 {
			l.t.Errorf("%s: got %+v of %d messages", payload(k.peer, k.tag, 0), c, k.count)
			continue
		}
		for n := range c.lost {
			if k.given[n] {
				l.t.Errorf("%s is lost, and was given to a bridge that has stored all", payload(k.peer, k.tag, n))
			}
		}
	}
}

// TestWriter_randomLives: whatever fails and is killed, each chain has each counter once, and what a bridge has
// taken before it ended in order is not lost.
func TestWriter_randomLives(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 34))
				l := &life{t: t, r: r, log: memlog.New(limit, fates(r))}
				for _, p := range []*bus.Peer{alice, bob} {
					for tag := range tags.Tag(3) {
						l.keys = append(l.keys, &published{peer: p, tag: tag, given: make(map[uint64]bool)})
					}
				}
				l.begin()
				for range 400 {
					l.step()
				}
				l.finish()
				time.Sleep(time.Second) // for what is stored late
				l.check()
			})
		})
	}
}
