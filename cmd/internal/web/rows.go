// SPDX-License-Identifier: Apache-2.0

package web

import (
	"math"
	"slices"
	"time"

	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// status is how a process or a connection is, the worst last.
type status int

// The statuses. "lost" is a loss of some time ago.
const (
	good status = iota
	lost
	unreachable
	losing
	stalled
)

// MarshalText returns the word that the page shows.
func (s status) MarshalText() ([]byte, error) {
	return []byte([...]string{"ok", "lost", "unreachable", "losing", "stalled"}[s]), nil
}

const (
	// now is how long a loss counts as one of now: causes have seconds.
	now = 5 * time.Second

	// textBytes limits a text of a peer in a frame.
	textBytes = 96

	// maxPolicies, maxCauses and maxWays limit what a row names. A peer says what it likes; there
	// are fewer of all.
	maxPolicies = 8
	maxCauses   = 8
	maxWays     = 4
)

// text returns a text of a peer, safe to show and short.
func text(s string) string {
	return sanitize.Cut(sanitize.Text(sanitize.Cut(s, textBytes)), 2*textBytes)
}

// round keeps frames small.
func round(x float64) float64 { return math.Round(x*10) / 10 }

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// process is an entry of the directory, or the process that shows itself.
type process struct {
	ID      string  `json:"id"`
	Name    string  `json:"name"`
	Role    string  `json:"role"`
	Host    string  `json:"host"`
	PID     int     `json:"pid,omitempty"`
	Address string  `json:"address,omitempty"`
	Tags    string  `json:"tags"`
	Since   int64   `json:"since,omitempty"` // milliseconds
	Status  status  `json:"status"`
	Error   string  `json:"error,omitempty"`
	Peers   int     `json:"peers"`
	Stalled int     `json:"stalled"`
	Own     int     `json:"own_stalls,omitempty"` // peers that have ended connections of late because it took nothing
	Rate    figure  `json:"rate,omitzero"`
	Bytes   figure  `json:"bytes,omitzero"`
	Queue   figure  `json:"queue,omitzero"` // 0 to 1; of one that sends
	Free    int     `json:"free"`
	Pool    int     `json:"pool"`
	Refused figure  `json:"refused,omitzero"`
	Lost    uint64  `json:"lost"`
	LossNow figure  `json:"loss_rate,omitzero"`
	Causes  []cause `json:"causes,omitempty"`

	row  *overview.Row
	text string // what the filter looks at
}

// cause is a state.Loss as the page has it.
type cause struct {
	Cause    state.Cause `json:"cause"`
	Messages uint64      `json:"n"`
	First    int64       `json:"first,omitempty"`
	Last     int64       `json:"last,omitempty"`
}

// peer is the other side of connections: what all rows know of one instance.
type peer struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Role     string   `json:"role"`
	Host     string   `json:"host"`
	PID      int      `json:"pid,omitempty"`
	Of       int      `json:"of"`               // connections
	Via      []string `json:"via,omitempty"`    // transports of its connections
	Unused   []string `json:"unused,omitempty"` // better ones, each with why it is not used
	Policies []string `json:"policies,omitempty"`
	Status   status   `json:"status"`
	Rate     figure   `json:"rate,omitzero"`
	Bytes    figure   `json:"bytes,omitzero"`
	Queue    figure   `json:"queue,omitzero"` // the fullest; of one that is sent to
	Queued   figure   `json:"queued,omitzero"`
	Lost     uint64   `json:"lost"`
	LossNow  figure   `json:"loss_rate,omitzero"`
	Causes   []cause  `json:"causes,omitempty"`
	Stalled  int64    `json:"stalled_since,omitempty"`
	Heard    int64    `json:"heard,omitempty"`
	Trip     float64  `json:"rtt,omitempty"`
	Resent   *uint64  `json:"resent,omitempty"` // segments of TCP; nil: not measured
	LeftOut  uint64   `json:"left_out,omitempty"`

	links  []*link
	text   string
	cutOff bool // its connections end again and again: the one that there is may have no fault
}

// link is a connection.
type link struct {
	from *process
	to   *peer
	peer // of this connection alone
}

// tag is what all rows know of one tag.
type tag struct {
	Tag   tags.Tag `json:"tag"`
	Of    int      `json:"of"` // processes that have messages of it
	By    string   `json:"by"` // the first of them
	ByID  string   `json:"by_id"`
	Peers int      `json:"peers"`
	Count uint64   `json:"count"`
	Rate  *float64 `json:"rate,omitempty"`
	Bytes *float64 `json:"bytes,omitempty"`
	Last  int64    `json:"last,omitempty"`
	Lost  uint64   `json:"lost"`

	text string
}

// loss is what one peer lost for one reason.
type loss struct {
	From  string `json:"from"`
	ID    string `json:"from_id"`
	To    string `json:"to"`
	ToID  string `json:"to_id"`
	Gone  bool   `json:"gone,omitempty"`
	Now   bool   `json:"now,omitempty"`
	cause        // embedded: its fields are those of the row

	text string
}

// totals are those of the bus.
type totals struct {
	Processes   int    `json:"processes"`
	Receivers   int    `json:"receivers"` // of those
	Peers       int    `json:"peers"`
	Connections int    `json:"connections"`
	LeftOut     int    `json:"left_out"` // connections of which the model knows nothing but their number
	Rate        figure `json:"rate,omitzero"`
	Bytes       figure `json:"bytes,omitzero"`
	Stalled     int    `json:"stalled"`
	Losing      int    `json:"losing"`
	Lost        uint64 `json:"lost"`
	LossNow     figure `json:"loss_rate,omitzero"`
	Unreachable int    `json:"unreachable"`
	Problems    int    `json:"problems"` // besides these: gone, unconfirmed, and others
	Tags        int    `json:"tags"`
	Messages    uint64 `json:"messages"`
}

func newProcess(row *overview.Row) *process {
	e, s := &row.Entry, row.State
	p := &process{
		ID: e.Instance, Name: text(e.Name), Role: text(string(overview.RoleOf(e))), Host: text(e.Host), PID: e.PID, Since: millis(e.Since),
		Status: unreachable, row: row, Rate: noFigure, Bytes: noFigure, LossNow: noFigure, Refused: noFigure, Queue: noFigure,
	}
	if len(e.Addresses) > 0 {
		p.Address = e.Addresses[0].String()
	}
	p.Tags = sanitize.Cut(shortSet(e.Tags), textBytes)
	if s != nil {
		p.answered(s)
	} else if row.Err != nil {
		p.Error = sanitize.Cut(sanitize.Error(row.Err), 2*textBytes)
	}
	p.text = searchable(p.Name, p.Host, p.ID, p.Role, p.Address, p.Tags)
	return p
}

// answered fills in what the process says of itself.
func (p *process) answered(s *state.State) {
	p.Status, p.Role, p.Since = good, string(s.Role), millis(s.Since)
	p.Peers, p.Stalled = s.Connected, s.Stalled
	if s.Sending != nil {
		p.Queue = figure(round(s.Fullest*100) / 100)
	}
	p.Causes, p.Lost = causesOf(s.Losses), state.Lost(s.Losses)
	p.Rate = rate(p.row, func(s *state.State) uint64 { return s.Messages })
	p.Bytes = rate(p.row, func(s *state.State) uint64 { return s.PayloadBytes })
	p.LossNow = rate(p.row, func(s *state.State) uint64 { return state.Lost(s.Losses) })
	if sending := s.Sending; sending != nil {
		p.Free, p.Pool = sending.PoolFreePages, sending.PoolPages
		p.Refused = rate(p.row, refusals)
	}
	switch {
	case s.Stalled > 0:
		p.Status = stalled
	case p.losing():
		p.Status = losing
	case p.Lost > 0:
		p.Status = lost
	}
}

// losing reports whether the process, which has answered, loses messages now.
func (p *process) losing() bool {
	return p.LossNow > 0 || recent(p.row.State.Losses, p.row.State.Time)
}

func refusals(s *state.State) uint64 {
	if s.Sending == nil {
		return 0
	}
	return s.Sending.Refusals
}

func rate(r *overview.Row, counter func(*state.State) uint64) figure {
	perSecond, ok := r.Rate(counter)
	if !ok {
		return noFigure
	}
	return figure(round(perSecond))
}

// recent reports whether something was lost now.
func recent(losses []state.Loss, at time.Time) bool {
	return slices.ContainsFunc(losses, func(l state.Loss) bool { return !l.Last.IsZero() && at.Sub(l.Last) <= now })
}

func causesOf(losses []state.Loss) (all []cause) {
	for _, l := range losses {
		if l.Messages > 0 && len(all) < maxCauses {
			all = append(all, cause{Cause: state.Cause(text(string(l.Cause))), Messages: l.Messages, First: millis(l.First), Last: millis(l.Last)})
		}
	}
	return all
}
