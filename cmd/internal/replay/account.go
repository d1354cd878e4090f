// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

import (
	"fmt"
	"strings"
	"time"

	"tagbus/cmd/internal/units"
	"tagbus/recording"
)

// account is what was found where the messages are that are to be published.
type account struct {
	messages uint64
	largest  int // message, in bytes
	first    time.Time
	last     time.Time        // first and last are those of the messages
	losses   recording.Losses // that the recording names
	gone     map[string]bool  // publishers that have vanished, whose last messages may be missing, by instance
	broken   uint64           // blocks that cannot be read
}

func (a *account) message(m *recording.Message) {
	a.messages++
	a.largest = max(a.largest, len(m.Data))
	if a.first.IsZero() {
		a.first = m.Time
	}
	a.last = m.Time
}

func (a *account) event(e *recording.Event) {
	instance := ""
	if e.Peer != nil {
		instance = e.Peer.Instance
	}
	switch e.Kind {
	case recording.Gap:
		cause := e.Cause
		if int(cause) >= len(a.losses) { // of a newer version
			cause = recording.CauseOther
		}
		a.losses[cause] += e.Count
	case recording.Vanished:
		if a.gone == nil {
			a.gone = make(map[string]bool)
		}
		a.gone[instance] = true
	case recording.Joined: // it is back
		delete(a.gone, instance)
	default: // no messages are missing
	}
}

func (a *account) damage() { a.broken++ }

// vanished returns how many publishers have vanished and have not come back.
func (a *account) vanished() uint64 { return uint64(len(a.gone)) }

// holes says what was missing when the recording was made; empty: nothing.
func (a *account) holes() string {
	lost := a.losses
	lost[recording.CauseLeftOut] = 0
	var parts []string
	if n := lost.Lost(); n > 0 {
		parts = append(parts, fmt.Sprintf("%s lost (%v)", units.FormatNumber(n, "message"), lost))
	}
	if n := a.losses[recording.CauseLeftOut]; n > 0 {
		parts = append(parts, units.FormatNumber(n, "message")+" left out by its policy")
	}
	if n := a.vanished(); n > 0 {
		parts = append(parts, fmt.Sprintf("%s vanished", units.FormatNumber(n, "publisher")))
	}
	return strings.Join(parts, ", ")
}
