// SPDX-License-Identifier: Apache-2.0

//go:build linux

package list

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/table"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/internal/sanitize"
)

// row is a publisher or a receiver, as JSON has it.
type row struct {
	Role            state.Role       `json:"role"`
	Instance        string           `json:"instance"`
	Name            string           `json:"name,omitempty"`
	Host            string           `json:"host,omitempty"`
	PID             int              `json:"pid"`
	Backend         string           `json:"backend"`
	Addresses       []netip.AddrPort `json:"addresses"`
	Ways            []directory.Way  `json:"ways,omitempty"` // by other backends, the best first
	Monitor         netip.AddrPort   `json:"monitor,omitzero"`
	Mirror          string           `json:"mirror,omitempty"` // that has copied the entry from another directory
	Tags            string           `json:"tags"`
	TagParts        int              `json:"tag_parts"`
	Since           time.Time        `json:"since,omitzero"`
	PageBytes       int              `json:"page_bytes"`
	MaxMessageBytes int              `json:"max_message_bytes"`

	backends string    // all of them, the best first
	asked    time.Time // by the clock of Since; zero: that is not known

	*figures        // of one that was asked and has answered
	Error    string `json:"error,omitempty"` // of one that has not
}

// figures are what a process says of itself.
type figures struct {
	Connected    int          `json:"connected_peers"`
	Messages     uint64       `json:"messages"`
	PayloadBytes uint64       `json:"payload_bytes"`
	MessageRate  *float64     `json:"messages_per_second,omitempty"`
	ByteRate     *float64     `json:"payload_bytes_per_second,omitempty"`
	Losses       []state.Loss `json:"losses,omitempty"`
	Path         *state.Path  `json:"path,omitempty"` // of TCP, on the connections that are open

	ByBackend []state.BackendCount `json:"connected_by_backend,omitempty"`

	via string // that in words
}

// orders are the values of --sort.
var orders = map[string]func(a, b *row) int{
	"name":  func(_, _ *row) int { return 0 },
	"since": func(a, b *row) int { return b.Since.Compare(a.Since) },
	"rate":  func(a, b *row) int { return byFigure(a, b, func(f *figures) float64 { return value(f.MessageRate) }) },
	"bytes": func(a, b *row) int { return byFigure(a, b, func(f *figures) float64 { return value(f.ByteRate) }) },
	"lost": func(a, b *row) int {
		return byFigure(a, b, func(f *figures) float64 { return float64(state.Lost(f.Losses)) })
	},
}

// byFigure orders rows by a figure, the largest first and those without one last.
func byFigure(a, b *row, figure func(*figures) float64) int {
	of := func(r *row) float64 {
		if r.figures == nil {
			return -1
		}
		return figure(r.figures)
	}
	return cmp.Compare(of(b), of(a))
}

func value(rate *float64) float64 {
	if rate == nil {
		return 0
	}
	return *rate
}

// rows returns the rows that are wanted, in their order.
func (l *lister) rows(o overview.Overview) []row {
	var rows []row
	for i := range o.Rows {
		if l.keep(&o.Rows[i].Entry) {
			rows = append(rows, rowOf(&o.Rows[i]))
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(orders[l.Sort](&a, &b), cmp.Compare(a.called(), b.called()), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Instance, b.Instance))
	})
	return rows
}

func rowOf(r *overview.Row) row {
	e := &r.Entry
	all := row{
		Role: overview.RoleOf(e), Instance: e.Instance, Name: e.Name, Host: e.Host, PID: e.PID, Backend: e.Backend,
		Addresses: e.Addresses, Ways: e.Ways, backends: overview.Backends(e), Monitor: e.Monitor, Mirror: e.Mirror, Tags: sanitize.Cut(e.Tags.String(), state.MaxTagsText), TagParts: e.Tags.Parts(),
		Since: e.Since, PageBytes: e.PageBytes, MaxMessageBytes: e.MaxMessageBytes,
	}
	if !r.Told || e.Since.IsZero() { // else the two are by different clocks
		all.asked = r.Clock(time.Time{})
	}
	if all.Addresses == nil { // of a client: none, which is a list too
		all.Addresses = []netip.AddrPort{}
	}
	if r.Err != nil && !errors.Is(r.Err, tool.ErrNoMonitor) { // it is connected to none, or a publisher would tell of it
		all.Error = cli.Text(r.Err)
	}
	if s := r.State; s != nil {
		if all.Since.IsZero() { // receivers do not announce it
			all.Since = s.Since
		}
		all.figures = &figures{Connected: s.Connected, Messages: s.Messages, PayloadBytes: s.PayloadBytes, Losses: s.Losses, Path: s.Path, ByBackend: s.ByBackend, via: overview.Via(s)}
		if rate, ok := r.Rate(func(s *state.State) uint64 { return s.Messages }); ok {
			all.MessageRate = &rate
		}
		if rate, ok := r.Rate(func(s *state.State) uint64 { return s.PayloadBytes }); ok {
			all.ByteRate = &rate
		}
	}
	return all
}

// called returns what people call a process: its name, or its id if it has none.
func (r *row) called() string { return cmp.Or(r.Name, r.Instance) }

// address returns the first address, and how many there are more.
func (r *row) address() string {
	switch n := len(r.Addresses); n {
	case 0:
		return ""
	case 1:
		return r.Addresses[0].String()
	default:
		return fmt.Sprintf("%v +%d", r.Addresses[0], n-1)
	}
}

// write writes rows.
func (l *lister) write(out io.Writer, now time.Time, rows []row) error {
	columns := []table.Column{table.Text("NAME"), table.Text("ROLE"), table.Text("HOST"), table.Number("PID")}
	if l.verbose() {
		columns = append(columns, table.Number(l.peerWord()), table.Number("MSG/S"), table.Number("MB/S"), table.Number("LOST"), table.Number("RESENT"), table.Whole("VIA"))
	}
	columns = append(columns, table.Text("BACKEND"), table.Whole("ADDRESS"), table.Tags("TAGS"), table.Whole("SINCE"))
	t := table.New(out, l.env.JSON, columns...)
	for i := range rows {
		r := &rows[i]
		cells := []string{r.called(), string(r.Role), r.Host, units.FormatKnown(r.PID)}
		if l.verbose() {
			cells = append(cells, r.cells()...)
		}
		cells = append(cells, r.backends, r.address(), r.Tags, units.FormatAgo(cmp.Or(r.asked, now), r.Since))
		if err := t.Row(r, cells...); err != nil {
			return err
		}
	}
	return t.Flush()
}

// peerWord returns the title of the number of peers.
func (c *Command) peerWord() string {
	switch {
	case c.Role == string(state.Subscriber):
		return "PUBS"
	case c.clients():
		return "PEERS"
	default:
		return "SUBS"
	}
}

// cells returns SUBS, MSG/S, MB/S, LOST, RESENT and VIA, empty where they are not known.
func (f *figures) cells() []string {
	if f == nil {
		return make([]string, 6)
	}
	resent := ""
	if f.Path != nil {
		resent = units.FormatCount(f.Path.Retransmitted)
	}
	return []string{
		units.FormatCount(uint64(f.Connected)), units.FormatKnownFigure(f.MessageRate, 1), units.FormatKnownFigure(f.ByteRate, 1e6),
		units.FormatCount(state.Lost(f.Losses)), resent, f.via,
	}
}

// maxReasons is how many of those that did not answer are named.
const maxReasons = 20

// notes writes what the table does not say.
//
//   - shown: how many of the rows were.
//   - all: how many entries were looked at.
func (l *lister) notes(out io.Writer, o overview.Overview, rows []row, shown, all int) {
	say := func(format string, args ...any) { fmt.Fprintln(out, sanitize.Linef(format, args...)) }
	switch {
	case all == 0 && len(o.Dead) > 0:
		say("%s has no program that lives", l.env.Bus)
	case all == 0:
		say("%s is empty: start a publisher, or a receiver, with the same --bus", l.env.Bus)
	case len(rows) == 0 && l.clients():
		say("none of %s in %s is what was asked for; a program that may not write there, or is of an earlier release, is not listed: tagbus info NAME of a publisher shows its subscribers", units.FormatNumber(all, "entry"), l.env.Bus)
	case len(rows) == 0:
		say("none of %s in %s is what was asked for", units.FormatNumber(all, "entry"), l.env.Bus)
	case shown < len(rows):
		say("%d of %d (--head)", shown, len(rows))
	}
	for _, line := range tool.DeadLines(overview.Overview{Time: o.Time, Dead: o.Dead}, l.keep) {
		say("%s", line)
	}
	for _, line := range l.oldLines() {
		say("%s", line)
	}
	named, more := 0, 0
	for i := range rows {
		r := &rows[i]
		switch {
		case r.Error == "":
		case l.env.JSON: // it is in the object
		case named == maxReasons:
			more++
		default:
			named++
			say("%s on %s could not be asked: %s", sanitize.Text(r.called()), sanitize.Text(cmp.Or(r.Host, "an unknown host")), r.Error)
		}
	}
	if more > 0 {
		say("%d more could not be asked", more)
	}
	if o.Problem != nil {
		for _, line := range few(strings.Split(o.Problem.Error(), "\n")) {
			say("%s", cli.Words(line))
		}
	}
}

// mostOfAFault is how many lines about one fault are written.
const mostOfAFault = 3

// particulars are what differs between two lines about one fault: names of files, and numbers.
var particulars = regexp.MustCompile(`[^\s:]*(?:\.jsonl|[0-9])[^\s:]*`)

// few returns lines about entries: of one fault the first few, and how many more there are.
// Thousands of damaged entries would leave nothing else on the screen.
func few(lines []string) (shown []string) {
	of := make(map[string]int)
	var order []string
	for _, line := range lines {
		fault := particulars.ReplaceAllString(line, "*")
		if of[fault]++; of[fault] == mostOfAFault+1 {
			order = append(order, fault)
		}
		if of[fault] <= mostOfAFault {
			shown = append(shown, line)
		}
	}
	for _, fault := range order {
		shown = append(shown, fmt.Sprintf("%s more like this: %s: tagbus check -v names each", units.FormatCount(uint64(of[fault]-mostOfAFault)), fault))
	}
	return shown
}
