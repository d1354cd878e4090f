// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"fmt"
	"strings"

	"tagbus/bus"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// Report is what Verify found: the recording is whole, or what is missing.
type Report struct {
	Files      []FileReport
	Publishers []PublisherReport // ordered by name and host
	Series     []SeriesReport    // that have messages or losses, ordered by publisher and tag
	Untold     Untold            // what Series does not tell
	Clock      ClockSteps        // of the recorder
	Stopped    *Event            // of the recorder, the last, with 4 KiB of text at most; nil: it has not said why it ended

	// Reasons are why the recording is not whole, a line for each. None: it is whole.
	Reasons []string
}

// FileReport is what Verify found in one file.
type FileReport struct {
	Info
	Damage []*DamageError // of the blocks that cannot be read, the first 100
	Broken int            // number of the blocks that cannot be read
}

// PublisherReport is what became of one publisher.
type PublisherReport struct {
	Peer *bus.Peer // as it was seen last; nil: messages had none

	// State is the kind of its last event other than Gap and Position: Joined, Lost (which
	// counts behind Joined alone), Ended or Vanished; 0: there was none.
	State    EventKind
	Failed   bool   // Ended because something failed there
	Text     string // of that event, 256 bytes at most
	Vanished int    // how often it has, since it has joined last
}

// SeriesReport is what became of the messages of one tag from one publisher.
type SeriesReport struct {
	Peer     *bus.Peer
	Tag      tags.Tag
	Messages uint64 // that are in the recording
	Bytes    uint64 // of data
	First    uint64 // smallest counter; 0: there are no messages
	Last     uint64 // largest counter

	// Lost counts the messages that Gap events name.
	Lost Losses

	// Missing is how many messages the counters show to be missing: behind the first
	// message, or the last Position.
	Missing uint64

	// Unexplained is how many of the missing messages no Gap names.
	Unexplained uint64

	// Repeated is how many messages have the counter of the one before.
	Repeated uint64

	// Backward is how many messages have a smaller counter than one before.
	Backward uint64
}

// Untold counts the events whose tags are so many that they are not followed one by one:
// more than 262,144 tags that have losses and no messages, or 1,048,576 that have no more
// than a Position, and some for the size of the files. The recorder of a bus has fewer.
type Untold struct {
	// Gaps is how many Gap events are added up in a SeriesReport of Tag 0 for each publisher.
	Gaps uint64

	// Positions is how many Position events have been passed over: what is missing of
	// their tags in front of the first message is unknown.
	Positions uint64
}

// Losses counts messages by the cause of their loss.
type Losses [causes]uint64

// Lost returns the number of messages that are not left out on purpose.
func (l Losses) Lost() (n uint64) {
	for c, m := range l {
		if Cause(c) != CauseLeftOut {
			n += m
		}
	}
	return n
}

// String returns the causes that have a number: "full 3, left-out 5", or "none".
func (l Losses) String() string {
	var parts []string
	for c, n := range l {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%v %d", Cause(c), n))
		}
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// Whole reports whether the recording has everything that its publishers published for it
// from its beginning to its end, except what the policy has left out on purpose.
func (r *Report) Whole() bool { return len(r.Reasons) == 0 }

// Total returns the sums of all series. Its Peer, Tag, First and Last are zero.
func (r *Report) Total() (t SeriesReport) {
	for i := range r.Series {
		s := &r.Series[i]
		t.Messages += s.Messages
		t.Bytes += s.Bytes
		t.Missing += s.Missing
		t.Unexplained += s.Unexplained
		t.Repeated += s.Repeated
		t.Backward += s.Backward
		for c, n := range s.Lost {
			t.Lost[c] += n
		}
	}
	return t
}

// reasons returns why the recording is not whole.
func (r *Report) reasons() (why []string) {
	add := func(format string, args ...any) { why = append(why, sanitize.Linef(format, args...)) }
	for i := range r.Files {
		r.Files[i].reasons(add)
	}
	why = append(why, r.PartReasons()...)
	t := r.Total()
	if n := t.Lost.Lost(); n > 0 {
		lost := t.Lost
		lost[CauseLeftOut] = 0
		add("%s: %v", count(n, "message is lost", "messages are lost"), lost)
	}
	if n := t.Unexplained; n > 0 {
		add("%s, and no event says why", count(n, "message is missing", "messages are missing"))
	}
	if n := t.Repeated; n > 0 {
		add("%s", count(n, "message is there twice", "messages are there twice"))
	}
	if n := t.Backward; n > 0 {
		add("%s out of order", count(n, "message is", "messages are"))
	}
	if u := r.Untold; u.Gaps+u.Positions > 0 {
		add("the recording names more tags in its events than can be followed: %s of tags without messages are told by publisher alone, %s passed over",
			count(u.Gaps, "loss", "losses"), count(u.Positions, "position is", "positions are"))
	}
	for i := range r.Publishers {
		p := &r.Publishers[i]
		if p.Vanished > 0 {
			add("publisher %s vanished: how many of its last messages are missing is unknown", peerName(p.Peer))
		} else if p.State == Lost {
			add("the connection to publisher %s was lost, and the recording ended before it was back", peerName(p.Peer))
		}
	}
	if s := r.Stopped; s != nil && s.Failed {
		add("the recorder stopped before its time: %s", s.Text)
	}
	return why
}

// reasons adds why a file is not whole.
func (f *FileReport) reasons(add func(string, ...any)) {
	name := f.File
	if name == "" {
		name = fmt.Sprintf("part %d", f.Part)
	}
	name = sanitize.Text(name)
	if f.HeaderDamage != nil {
		add("%s: %v", name, f.HeaderDamage)
	}
	if why := f.Unfinished(); why != "" {
		add("%s %s", name, why)
	}
	if f.Skipped > 0 {
		add("%s: %s between the blocks cannot be read", name, count(uint64(f.Skipped), "byte", "bytes"))
	}
	if f.Broken > 0 {
		add("%s: %s be read; the first: %v", name, count(uint64(f.Broken), "block cannot", "blocks cannot"), f.Damage[0])
	}
}

// PartReasons returns those of Reasons that are about the parts: which are missing, or there twice.
func (r *Report) PartReasons() (why []string) {
	if len(r.Files) == 0 {
		return []string{"there is no file"}
	}
	add := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }
	next := uint64(0)
	for i := range r.Files {
		part := uint64(r.Files[i].Part)
		switch {
		case part > next && part == next+1:
			add("part %d is missing", next)
		case part > next:
			add("parts %d to %d are missing", next, part-1)
		case part < next:
			add("part %d is there twice", part)
		}
		next = part + 1
	}
	if r.Files[len(r.Files)-1].Continues {
		add("part %d is missing", next)
	}
	return why
}

func peerName(p *bus.Peer) string {
	if p == nil {
		return "without name"
	}
	return p.String()
}

// count returns a number with the word for it.
func count(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// String returns the report as lines for people: whole or not, why, and what is in it.
func (r *Report) String() string {
	var b strings.Builder
	if r.Whole() {
		b.WriteString("whole\n")
	} else {
		b.WriteString("not whole\n")
	}
	for _, why := range r.Reasons {
		b.WriteString("  " + why + "\n")
	}
	t := r.Total()
	fmt.Fprintf(&b, "%s, %s, %s, %s of data\n",
		count(uint64(len(r.Files)), "file", "files"), count(uint64(len(r.Publishers)), "publisher", "publishers"),
		count(t.Messages, "message", "messages"), count(t.Bytes, "byte", "bytes"))
	if n := t.Lost[CauseLeftOut]; n > 0 {
		fmt.Fprintf(&b, "%s out by the policy\n", count(n, "message left", "messages left"))
	}
	if c := r.Clock; c.Count > 0 {
		fmt.Fprintf(&b, "%v\n", c)
	}
	if s := r.Stopped; s != nil && s.Text != "" {
		fmt.Fprintf(&b, "the recorder stopped: %s\n", sanitize.Line(s.Text))
	}
	return b.String()
}
