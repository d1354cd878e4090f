// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/memlog"
	"tagbus/bridge/internal/spool"
	"tagbus/bridge/internal/spool/memdisk"
	"tagbus/bridge/internal/writer"
	"tagbus/bridge/record"
	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/tags"
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
	t     *testing.T
	r     *rand.Rand
	log   *memlog.Log
	disk  *memdisk.Disk // nil: there is no spool
	w     *writer.Writer
	calls *calls
	keys  []*published
	used  bool // the spool

	broken  bool   // the disk takes only some of it
	release func() // nil: the disk does not hang
}

// published is what was published of a key.
type published struct {
	peer   *bus.Peer
	tag    tags.Tag
	count  uint64
	before uint64          // at the start of this bridge
	lost   uint64          // since then
	latest uint64          // the largest of before
	begin  uint64          // of the chain at most, as the first bridge knew that stored all; 0: none has
	given  map[uint64]bool // to a bridge that stored all
	fresh  []uint64        // to this bridge
}

// begin begins a bridge, to which the publishers send again some of what they have kept.
func (l *life) begin() {
	l.forgive()
	l.w, l.calls = open(l.t, l.log, func(cfg *writer.Config) {
		cfg.MaxFlights, cfg.RecordMessages = 1+l.r.IntN(8), l.r.IntN(2)*l.r.IntN(20)
		cfg.RecordBytes = 1 << (10 + l.r.IntN(4))
		cfg.SetStep(1 + l.r.IntN(3))
		if l.disk != nil {
			cfg.MaxBytes, cfg.RecordBytes = 1<<(11+l.r.IntN(3)), 1<<(7+l.r.IntN(4))
			cfg.Spool, cfg.SpoolPatience = openSpool(l.t, l.disk, 32<<10+l.r.Int64N(256<<10)), []time.Duration{50 * time.Millisecond, time.Minute}[l.r.IntN(2)]
		}
	})
	for _, k := range l.keys {
		k.fresh, k.lost = nil, 0
		k.before = k.count - min(k.count, uint64(l.r.IntN(6)))
		k.latest = max(k.latest, k.before)
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
		l.settle()
	case n < 90:
		time.Sleep(time.Duration(l.r.IntN(30)) * time.Millisecond)
	case n < 93:
		l.log.SetAway(l.r.IntN(2) == 0)
	case n < 96:
		if l.disk != nil {
			l.used = l.used || l.disk.Written() > 0
			l.broken = false
			killed := l.disk.Kill(l.r.IntN(2) * l.r.IntN(300))
			l.answer()
			l.disk = killed
		}
		kill(l.w, l.log)
		l.log = l.log.Reopen(fates(l.r))
		l.begin()
	case n < 97 && l.disk != nil:
		l.leave()
		l.begin()
	case n == 97 && l.disk != nil:
		l.broken = l.r.IntN(2) == 0
		l.disk.FailWrites(map[bool]error{true: syscall.ENOSPC}[l.broken], l.r.IntN(4000))
	case n < 99:
		l.finish(false)
		l.begin()
	case l.disk != nil:
		if l.answer(); l.r.IntN(2) == 0 {
			l.release = l.disk.Hang()
		}
	}
}

// settle says where all tags stand.
func (l *life) settle() {
	var all []writer.Standing
	for _, k := range l.keys {
		all = append(all, writer.Standing{Peer: k.peer, Tag: k.tag, Before: k.before, Position: k.count, Losses: []record.Share{full(k.lost)}})
	}
	l.w.Positions(l.w.Mark(), all)
}

// answer ends that the disk hangs.
func (l *life) answer() {
	if l.release != nil {
		l.release()
		l.release = nil
	}
}

// forgive forgets what is not to be lost if the bridge has gone on without its spool: then it names what is lost. It reports whether it has.
func (l *life) forgive() bool {
	var silent *writer.SpoolSilentError
	if l.calls == nil || !slices.ContainsFunc(l.calls.said().reports, func(err error) bool { return errors.As(err, &silent) && silent.Lost }) {
		return false
	}
	for _, k := range l.keys {
		clear(k.given)
		k.begin = 0 // it may have been in the spool alone
	}
	return true
}

// finish ends the bridge in order, perhaps after all publishers: what was given to it is in the log then.
func (l *life) finish(goodbye bool) {
	l.log.SetAway(false)
	if l.disk != nil {
		l.answer()
		l.disk.FailWrites(nil, 0)
		l.broken = false
	}
	l.settle()
	for _, p := range []*bus.Peer{alice, bob} {
		if goodbye {
			l.w.End(p.Instance, record.Goodbye, time.Now(), "")
		}
	}
	closeWriter(l.t, l.w)
	l.give()
}

// leave ends the bridge in order while the log is away: what was given to it is in the spool then.
func (l *life) leave() {
	l.log.SetAway(true)
	l.answer()
	l.settle()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	var unwritten *writer.UnwrittenError
	if err := l.w.Close(ended); err != nil && (!errors.As(err, &unwritten) || unwritten.Messages > 0) {
		isFull := func(err error) bool { return errors.Is(err, spool.ErrFull) }
		if !slices.ContainsFunc(l.calls.said().reports, isFull) && !l.broken && !l.forgive() {
			l.t.Errorf("got %v, want all in the spool", err)
		}
	} else {
		l.give()
	}
	_ = l.log.Close()
	l.log = l.log.Reopen(fates(l.r))
}

// give notes that what was given to the bridge is not to be lost.
func (l *life) give() {
	if l.forgive() {
		return
	}
	for _, k := range l.keys {
		if k.begin == 0 && k.count > 0 {
			k.begin = k.latest + 1
		}
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
		if c == nil || c.begin < 1 || k.begin > 0 && c.begin > k.begin || c.next != k.count+1 {
			l.t.Errorf("%s: got %+v of %d messages", payload(k.peer, k.tag, 0), c, k.count)
			continue
		}
		if c.end != record.Goodbye {
			l.t.Errorf("%s: got the end %v, want the goodbye", payload(k.peer, k.tag, 0), c.end)
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
func TestWriter_randomLives(t *testing.T) { randomLives(t, false) }

// TestWriter_randomLivesWithASpool: nor is what a bridge has put into its spool before it ended, whatever is killed.
func TestWriter_randomLivesWithASpool(t *testing.T) { randomLives(t, true) }

func randomLives(t *testing.T, spooled bool) {
	t.Helper()
	used, seeds := 0, uint64(60)
	if testkit.All() {
		seeds = 1000
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 34))
				l := &life{t: t, r: r, log: memlog.New(limit, fates(r))}
				if spooled {
					l.disk = memdisk.New()
				}
				for _, p := range []*bus.Peer{alice, bob} {
					for tag := range tags.Tag(3) {
						l.keys = append(l.keys, &published{peer: p, tag: tag, given: make(map[uint64]bool)})
					}
				}
				l.begin()
				for range 400 {
					l.step()
				}
				l.finish(true)
				time.Sleep(time.Second) // for what is stored late
				l.check()
				if l.used || spooled && l.disk.Written() > 0 {
					used++
				}
			})
		})
	}
	if spooled && used < 20 {
		t.Errorf("got %d lives with something in the spool, want 20 or more", used)
	}
}
