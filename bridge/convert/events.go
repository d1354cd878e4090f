// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"tagbus/bridge/internal/follow"
	"tagbus/bridge/record"
	"tagbus/bus"
	"tagbus/internal/sanitize"
	"tagbus/recording"
	"tagbus/tags"
)

// publisher is what is known of one, over all its tags.
type publisher struct {
	open   int // tags that have begun and not ended
	gone   bool
	failed bool
	text   string
}

// mostText is the most bytes of a text that is taken over.
const mostText = 4096

// What a Gap says beside CauseOther.
const (
	textHole    = "in no record of the log: its retention has dropped them, or another program has written to it"
	textUnknown = "the log does not say why"
)

// texts are those of causes that recordings do not have.
var texts = map[record.Cause]string{
	record.CauseAway:     "away: no bridge ran",
	record.CauseTooLarge: "too-large: larger than the log takes",
	record.CauseSpool:    "spool: the spool of the bridge cannot be read",
}

// before writes what stands in front of a record.
func (r *run) before(c *chain, p *part) error {
	rec := p.rec
	if p.hole > 0 {
		if err := r.gap(rec, p.hole, recording.CauseOther, textHole); err != nil {
			return err
		}
	}
	if c.Value.open || !p.first && (rec.Kind == record.End || rec.Count > 0 && p.from == rec.Next()) {
		return nil
	}
	c.Value.open = true
	at := r.publisher(c)
	at.gone = at.gone && at.open > 0
	at.open++
	if p.first && rec.Kind != record.Begin {
		r.report.Begun++
	}
	err := r.event(recording.Event{Kind: recording.Joined, Time: p.time, Peer: rec.Peer, Tags: tags.Of(rec.Tag)})
	if err != nil || !p.first {
		return err
	}
	return r.event(recording.Event{Kind: recording.Position, Time: p.time, Peer: rec.Peer, Tag: rec.Tag, Count: rec.First - 1})
}

func (r *run) publisher(c *chain) *publisher {
	p := r.publishers[c.Key.Instance]
	if p == nil {
		p = new(publisher)
		r.publishers[c.Key.Instance] = p
	}
	return p
}

// mark writes a record without messages.
func (r *run) mark(c *chain, p *part) error {
	switch p.rec.Kind {
	case record.Lost:
		return r.lost(p)
	case record.End:
		return r.end(c, p.rec)
	default:
		return nil
	}
}

// lost writes the gaps of a Lost record, as far as it is new.
func (r *run) lost(p *part) error {
	left := p.rec.Next() - p.from
	r.report.Lost = follow.Sum(r.report.Lost, left)
	if p.from > p.rec.First { // which of the causes those have that are left is not known, unless there is one
		if len(p.rec.Causes) == 1 && p.rec.Causes[0].Count == p.rec.Count {
			p.rec.Causes[0].Count = left
		} else {
			p.rec.Causes = nil
		}
	}
	for _, s := range p.rec.Causes {
		cause, text := recording.Cause(s.Cause), ""
		if s.Cause > record.CauseQueueFull {
			if cause, text = recording.CauseOther, texts[s.Cause]; text == "" {
				text = s.Cause.String()
			}
		} else if s.Cause == record.CauseOther {
			text = p.rec.Text
		}
		left -= s.Count
		if err := r.gap(p.rec, s.Count, cause, text); err != nil {
			return err
		}
	}
	text := p.rec.Text
	if text == "" {
		text = textUnknown
	}
	return r.gap(p.rec, left, recording.CauseOther, text)
}

// gap writes that messages are missing, if there are some.
func (r *run) gap(rec *record.Record, n uint64, cause recording.Cause, text string) error {
	if n == 0 {
		return nil
	}
	return r.event(recording.Event{
		Kind: recording.Gap, Time: rec.Time, Peer: rec.Peer, Tag: rec.Tag, Count: n, Cause: cause, Text: sanitize.Cut(text, mostText),
	})
}

// end takes the end of a chain. A recording has one end for all tags of a publisher: the last of them.
func (r *run) end(c *chain, rec *record.Record) error {
	if rec.How == record.Stopped || !c.Value.open {
		return nil
	}
	c.Value.open = false
	p := r.publisher(c)
	p.open--
	p.gone = p.gone || rec.How == record.Vanished || rec.How == record.Away
	p.failed = p.failed || rec.How == record.Failed
	if p.text == "" {
		p.text = sanitize.Cut(rec.Text, mostText)
	}
	if rec.How == record.Away && p.text == "" {
		p.text = "while no bridge ran"
	}
	if p.open > 0 {
		return nil
	}
	ended := r.ending(p, rec.Peer)
	ended.Time = rec.Time
	p.failed, p.text = false, ""
	return r.event(ended)
}

// ending returns the event for the end of a publisher.
func (*run) ending(p *publisher, peer *bus.Peer) recording.Event {
	if p.gone {
		return recording.Event{Kind: recording.Vanished, Peer: peer, Text: p.text}
	}
	return recording.Event{Kind: recording.Ended, Peer: peer, Failed: p.failed, Text: p.text}
}
