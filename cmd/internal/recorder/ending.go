// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/units"
	"tagbus/recording"
)

// ending is why a run ends: the first reason counts.
type ending struct {
	once   sync.Once
	done   chan struct{} // closed when there is a reason
	reason string
	err    error // nil if it is an orderly end
}

func newEnding() *ending { return &ending{done: make(chan struct{})} }

// end ends the run. Later calls do nothing. Blocks: never.
func (e *ending) end(reason string, err error) {
	e.once.Do(func() {
		e.reason, e.err = reason, err
		close(e.done)
	})
}

// presence follows which publishers there are. Loop only, until that has stopped. The zero
// value is ready.
type presence struct {
	present  map[string]bool // by instance: connected
	away     map[string]bool // the connection is lost, and has not come back
	seen     uint64          // publishers that have acknowledged the subscription
	vanished uint64          // that went without goodbye
	failed   []string        // that have ended because something failed there, with the reasons
}

// see takes an event and reports whether with it the last publisher has gone for good.
func (p *presence) see(e bus.Event) (lastGone bool) {
	if e.Peer == nil {
		return false
	}
	if p.present == nil {
		p.present, p.away = make(map[string]bool), make(map[string]bool)
	}
	id := e.Peer.Instance
	switch e.Kind {
	case bus.Subscribed, bus.Resubscribed: // what was missed in between is reported by now
		if !p.present[id] {
			p.seen++
		}
		p.present[id] = true
		delete(p.away, id)
	case bus.Lost:
		if p.present[id] && e.Err != nil { // else this side has left
			p.away[id] = true
		}
	case bus.Goodbye, bus.Vanished:
		if e.Kind == bus.Vanished && p.present[id] {
			p.vanished++
		}
		if failed := (*bus.PeerFailedError)(nil); errors.As(e.Err, &failed) {
			p.failed = append(p.failed, fmt.Sprintf("%v: %s", e.Peer, failed.Reason))
		}
		known := p.present[id]
		delete(p.present, id)
		delete(p.away, id)
		return known && len(p.present) == 0
	default: // nothing about presence
	}
	return false
}

// stopped returns the last record of the recording.
func (r *run) stopped() recording.Event {
	e := recording.Event{Kind: recording.Stopped, Time: time.Now(), Text: r.ending.reason}
	if err := r.ending.err; err != nil {
		e.Failed, e.Text = true, cli.Text(err)
	}
	return e
}

const (
	// diskGrace is how long the disk may take nothing, after the end, of what has
	// arrived.
	diskGrace = 30 * time.Second

	// patience is how long it may take before that is said.
	patience = time.Second
)

// finish waits until what has arrived is written, while the disk takes some of it and no
// signal asks for haste.
func (r *run) finish(ctx context.Context) error {
	haste := ctx.Done()
	if r.ending.reason == "signal" && r.env.Hurry != nil {
		haste = r.env.Hurry.Done() // that was the first one
	}
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	slow := time.NewTimer(patience)
	defer slow.Stop()
	taken, since := r.writer.taken.Load(), time.Now()
	for {
		select {
		case <-r.wrote:
			r.notWritten = r.unwritten()
			if r.writeErr != nil && errors.Is(r.ending.err, r.writeErr) {
				return nil // known
			}
			return r.writeErr
		case <-haste:
			return r.giveUp("a signal ended the wait")
		case <-slow.C:
			r.console.Tell(slog.LevelInfo, "waiting", nil, "waiting for %s to take what has arrived: until it has taken nothing for %v, or another signal gives up", r.cmd.File, diskGrace)
		case <-tick.C:
		}
		if n := r.writer.taken.Load(); n != taken || r.writer.syncing.Load() {
			taken, since = n, time.Now()
		} else if time.Since(since) >= diskGrace {
			return r.giveUp(fmt.Sprintf("nothing was taken for %v", diskGrace))
		}
	}
}

// giveUp reports a disk that has not taken what has arrived. The goroutine that waits for it
// stays behind.
func (r *run) giveUp(why string) error {
	r.notWritten = r.unwritten()
	return fmt.Errorf("%s: %s: %s not written", r.cmd.File, why, units.FormatNumber(r.notWritten, "message"))
}

// unwritten returns how many messages have arrived and are not known to be in the file.
func (r *run) unwritten() uint64 {
	n := r.intake.messages.Load()
	return n - min(n, r.writer.messages.Load())
}
