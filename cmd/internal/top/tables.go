// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"tagbus/bus/observer"
	"tagbus/cmd/internal/overview"
	"tagbus/internal/sanitize"
)

// instanceColumns are those of the instances, in their order.
var instanceColumns = []column[overview.Instance]{
	{"NAME", 12, true, true, func(in *overview.Instance) string { return safe(overview.Label(in.Name, in.Instance)) }},
	{"ROLE", 9, true, true, func(in *overview.Instance) string { return safe(string(in.Role)) }},
	{"HOST", 8, true, true, func(in *overview.Instance) string { return safe(in.Host) }},
	{"SUBS", 5, false, false, func(in *overview.Instance) string { return count(uint64(in.Connected)) }},
	{"MSG/S", 5, false, false, func(in *overview.Instance) string { return rate(in.MessageRate) }},
	{"MB/S", 5, false, false, func(in *overview.Instance) string { return megabytes(in.ByteRate) }},
	{"QUEUE%", 6, false, false, func(in *overview.Instance) string { return percent(in.Fullest) }},
	{"FREE-PAGES", 10, false, false, freePages},
	{"RESENT/S", 8, false, false, func(in *overview.Instance) string { return rate(in.ResentRate) }},
	{"REFUSED/S", 9, false, false, func(in *overview.Instance) string { return rate(in.RefusalRate) }},
	{"LOST:full/mem/conn", 18, false, false, func(in *overview.Instance) string { return lost(in.Losses) }},
	{"STALLED", 7, false, false, stalledPeers},
	{"WORST-PEER", 12, true, false, worstPeer},
}

// linkColumns are those of the links, in their order.
var linkColumns = []column[overview.Link]{
	{"FROM", 12, true, true, func(l *overview.Link) string { return safe(l.From.Label()) }},
	{"TO", 12, true, true, func(l *overview.Link) string { return safe(l.To.Label()) }},
	{"TO-HOST", 8, true, true, func(l *overview.Link) string { return safe(l.To.Host) }},
	{"VIA", 3, true, false, func(l *overview.Link) string { return safe(cmp.Or(l.Backend, unknown)) }},
	{"POLICY", 11, true, false, func(l *overview.Link) string { return safe(cmp.Or(strings.Join(l.Policies, ","), unknown)) }},
	{"QUEUE%", 6, false, false, func(l *overview.Link) string { return percent(l.Queue) }},
	{"SENT/S", 6, false, false, func(l *overview.Link) string { return rate(l.MessageRate) }},
	{"MB/S", 5, false, false, func(l *overview.Link) string { return megabytes(l.ByteRate) }},
	{"LOST/S", 6, false, false, func(l *overview.Link) string { return rate(l.LostRate) }},
	{"LOST", 5, false, false, func(l *overview.Link) string { return count(l.Lost) }},
	{"STALLED", 7, false, false, stalledFor},
	{"RESENT/S", 8, false, false, func(l *overview.Link) string { return rate(l.ResentRate) }},
	{"RTT", 6, false, false, func(l *overview.Link) string { return roundTrip(l.RoundTrip) }},
}

// worstPeer names the peer to look at: one that is there, or else one that is missing. Peers of an
// instance that stood still, or is too slow for what it receives, have no fault.
func worstPeer(in *overview.Instance) string {
	if in.Worst == "" && (in.OwnStalls > 0 || in.LosesItself()) {
		return "itself"
	}
	if in.Worst == "" && in.Missing > 0 {
		return safe(in.Missed) + " gone"
	}
	return safe(in.Worst)
}

// safe is sanitize.Text, which is asked only for a text that may need it: there are thousands of
// cells, and most of them are names.
func safe(s string) string {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return sanitize.Text(s)
		}
	}
	return s
}

// stalledPeers returns how many peers take nothing. Of one that receives it is not known: its
// peers send.
func stalledPeers(in *overview.Instance) string {
	if in.Fullest.Known() {
		return count(uint64(max(in.Stalled, in.Stuck)))
	}
	return unknown
}

func freePages(in *overview.Instance) string {
	if in.Pages == 0 {
		return unknown
	}
	return count(uint64(in.FreePages))
}

func stalledFor(l *overview.Link) string {
	switch {
	case l.Stuck && l.StalledSince.IsZero():
		return "now"
	case !l.Stuck:
		return unknown
	}
	return span(time.Duration(l.StalledFor * float64(time.Second)))
}

// reason says why an instance has no figures; "" if it has.
func reason(in *overview.Instance) string {
	if in.Trouble() != overview.Silent {
		return ""
	}
	if in.Row != nil && errors.Is(in.Row.Err, observer.ErrNotObservable) {
		return "does not tell of itself: " + sanitize.Line(in.Error)
	}
	text := "not answering"
	if !in.SilentSince.IsZero() {
		text += " for " + span(in.Time.Sub(in.SilentSince))
	}
	if in.Error != "" {
		text += ": " + sanitize.Line(in.Error)
	}
	return text
}
