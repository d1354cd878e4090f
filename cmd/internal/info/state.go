// SPDX-License-Identifier: Apache-2.0

//go:build linux

package info

import (
	"cmp"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/table"
	"tagbus/cmd/internal/units"
	"tagbus/internal/sanitize"
)

// valueAt is where the values of the lines of a page begin.
const valueAt = 15

// page writes lines with a word in front.
type page struct{ out io.Writer }

// say writes a line. Texts of others in it are made safe.
func (p page) say(what, format string, args ...any) {
	line := fmt.Sprintf("  %-12s %s", what, sanitize.Linef(format, args...))
	if width := table.Width(p.out); width > 0 {
		line = table.CutWords(line, valueAt, width)
	}
	fmt.Fprintln(p.out, line)
}

// head writes the first line.
func (p page) head(called string, role state.Role, host string, pid int) {
	fmt.Fprintf(p.out, "%s: %s on %s, pid %s\n", sanitize.Text(called), sanitize.Text(string(role)), sanitize.Text(cmp.Or(host, "an unknown host")), cmp.Or(units.FormatKnown(pid), "unknown"))
}

// writeEntry writes what the directory knows.
func writeEntry(out io.Writer, e *directory.Entry, now time.Time) {
	p := page{out}
	p.head(name(e.Name, e.Instance), overview.RoleOf(e), e.Host, e.PID)
	p.say("instance", "%s", e.Instance)
	p.entry(e, now)
}

func (p page) entry(e *directory.Entry, now time.Time) {
	p.say("listed", "%s", when(now, e.Since))
	for i, way := range e.AllWays() {
		p.say(first("address", i), "%s over %s", addresses(way.Addresses), way.Backend)
	}
	if e.Mirror != "" {
		p.say("copied", "from another directory by tagbus mirror %s", e.Mirror)
	}
	if e.Monitor.IsValid() {
		p.say("monitor", "http://%v", e.Monitor)
	}
	p.say("tags", "%s", sanitize.Cut(cmp.Or(e.Tags.String(), "none"), state.MaxTagsText))
	p.say("sizes", "pages of %v, messages up to %v", units.Bytes(e.PageBytes), units.Bytes(e.MaxMessageBytes))
}

// first returns a word for the first of several lines, and "" for the others.
func first(what string, line int) string {
	if line > 0 {
		return ""
	}
	return what
}

func addresses(all []netip.AddrPort) string {
	texts := make([]string, len(all))
	for i, a := range all {
		texts[i] = a.String()
	}
	return strings.Join(texts, ", ")
}

// when returns a time and how long ago it was.
func when(now, t time.Time) string {
	if t.IsZero() {
		return "at an unknown time"
	}
	return units.FormatTime(t) + ", " + units.FormatAgo(now, t)
}

// writeState writes what an instance says of itself.
//
//   - clients: as of overview.UnusedWays.
func writeState(out io.Writer, r *overview.Row, clients map[string]*state.State) {
	s, p := r.State, page{out}
	p.head(name(s.Name, s.Instance), s.Role, s.Host, s.PID)
	p.say("instance", "%s", s.Instance)
	p.say("version", "%s, %s", s.Program, s.Go)
	p.say("running", "for %s, since %s", units.FormatAge(s.Time.Sub(s.Since)), units.FormatTime(s.Since))
	if r.Entry.Role.IsClient() {
		p.clientEntry(&r.Entry, s.Time)
	} else {
		p.entry(&r.Entry, s.Time)
	}
	if s.EntryFailing {
		p.say("", "its entry cannot be renewed now: others will take it for gone")
	}
	if s.EntryCrowded {
		p.say("", "its directory has more entries than programs follow: some may not find it (--max-entries, of a folder)")
	}
	if s.AccessFailing {
		p.say("", "its certificates or its policy cannot be read again: those of before are in use, as its warnings say")
	}
	p.counters(r)
	if s.Sending != nil {
		p.sending(s, s.Sending)
	}
	if s.Receiving != nil {
		p.receiving(s.Receiving)
	}
	p.peers(r, clients)
	p.busiest(s)
}

// counters writes what all roles count.
func (p page) counters(r *overview.Row) {
	s := r.State
	p.say("messages", "%s%s", units.FormatCount(s.Messages), perSecond(r, func(s *state.State) uint64 { return s.Messages }, units.FormatRate))
	p.say("payload", "%s%s", units.FormatBytes(float64(s.PayloadBytes)), perSecond(r, func(s *state.State) uint64 { return s.PayloadBytes }, units.FormatByteRate))
	p.say("lost", "%s", lost(s.Losses))
	if path := s.Path; path != nil {
		p.say("resent", "%s of TCP, of %s with data, on the connections that are open", units.FormatNumber(path.Retransmitted, "segment"), units.FormatCount(path.Segments))
	}
	p.some("left out", s.LeftOut, "message", "by the policies latest and sample, on purpose")
	p.some("silent", s.Silent, "connection", "closed here because nothing was heard")
	p.some("broken", s.Broken, "connection", "ended without goodbye")
}

// perSecond returns the rate of a counter, after a comma, if it is known.
func perSecond(r *overview.Row, counter func(*state.State) uint64, format func(float64) string) string {
	rate, ok := r.Rate(counter)
	if !ok {
		return ""
	}
	return ", " + format(rate)
}

// some writes a number of things that is not 0, and what became of them.
func (p page) some(what string, n uint64, thing, became string) {
	if n > 0 {
		p.say(what, "%s %s", units.FormatNumber(n, thing), became)
	}
}

// sending writes what only a publisher or sender counts.
func (p page) sending(s *state.State, c *state.Sending) {
	p.say("queue", "%v for each peer and policy, the fullest is %s full", units.Bytes(c.QueueBytes), percent(s.Fullest))
	p.some("refused", c.Refusals, "time", "without room for a message")
	p.some("unconfirmed", c.Unconfirmed, "message", "under way, or gone with a lost connection")
	p.some("replayed", c.Replayed, "message", "from the cache")
	p.some("cut off", c.StallsEnded, "connection", "closed here because the peer took nothing")
	p.some("strangers", c.Strangers, "connection", "not from a tagbus program")
	p.say("streams", "%d", c.Streams)
	p.say("pool", "%s, %d free, at least %d in the last minute", units.FormatNumber(c.PoolPages, "page"), c.PoolFreePages, c.PoolMinFreePages)
	if c.CacheLimitBytes > 0 {
		p.say("cache", "%s, %v of %v", units.FormatNumber(c.CachedMessages, "message"), units.Bytes(c.CachedBytes), units.Bytes(c.CacheLimitBytes))
	}
}

// receiving writes what only a subscriber or receiver counts.
func (p page) receiving(c *state.Receiving) {
	p.say("pages", "%s", units.FormatCount(c.Pages))
	p.some("overflowed", c.Overflowed, "message", "lost in a full queue here")
	p.some("unwanted", c.Unwanted, "message", "after the end of their subscription")
	p.some("panics", c.Panics, "panic", "of a handler")
	p.some("no room", c.RetainRefusals, "time", "without room to retain a message")
	if c.Retained > 0 {
		p.say("retained", "%s, %v", units.FormatNumber(c.Retained, "message"), units.Bytes(c.RetainedBytes))
	}
}

// lost returns losses by cause.
func lost(losses []state.Loss) string {
	if len(losses) == 0 {
		return "none"
	}
	causes := make([]string, len(losses))
	for i, l := range losses {
		causes[i] = fmt.Sprintf("%s %s", units.FormatCount(l.Messages), l.Cause)
	}
	return strings.Join(causes, ", ")
}

func percent(share float64) string { return strconv.Itoa(int(share*100+0.5)) + " %" }
