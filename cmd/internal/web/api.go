// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tagbus/bus/state"
	"tagbus/cmd/internal/jsonline"
	"tagbus/cmd/internal/overview"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// asks are the parameters of a question.
var asks = []string{"busiest", "filter", "limit", "offset", "peers", "tags"}

const (
	maxEntries   = 1000  // in an answer, and the default
	maxWaiting   = 4     // questions that wait for the one that is being answered
	peersOfAnAPI = 16384 // peers, and tags, in all answers together
)

// api answers /api/v1/bus: one question after the other.
//
// Threads: any.
type api struct {
	source  Source
	turn    chan struct{}
	waiting chan struct{}
	entries int // of the last look; it belongs to the question that has the turn
}

func newAPI(source Source) *api {
	return &api{source: source, turn: make(chan struct{}, 1), waiting: make(chan struct{}, maxWaiting)}
}

// Bus is the answer of /api/v1/bus.
type Bus struct {
	Version int       `json:"state_version"`
	Time    time.Time `json:"time"`
	Problem string    `json:"problem,omitempty"` // of the directory
	Matched int       `json:"matched_entries"`   // by the filter, of which Entries has some
	Entries []Entry   `json:"entries"`
}

// Entry is an entry of the directory, and what it says of itself.
type Entry struct {
	Instance  string       `json:"instance"`
	Name      string       `json:"name,omitempty"`
	Role      string       `json:"role"`
	Host      string       `json:"host,omitempty"`
	PID       int          `json:"pid,omitempty"`
	Backend   string       `json:"backend"`
	Addresses []string     `json:"addresses"`
	Ways      []state.Way  `json:"ways,omitempty"` // by other backends, the best first
	Monitor   string       `json:"monitor,omitempty"`
	Since     time.Time    `json:"since,omitzero"`
	Error     string       `json:"error,omitempty"` // why there is no state
	State     *state.State `json:"state,omitempty"`
}

// ask is what a program wants to know.
type ask struct {
	question      state.Question
	filter        []string
	offset, limit int
}

// parseAsk reads the query.
//
//   - Errors: *queryError.
func parseAsk(raw string) (ask, error) {
	q, err := url.ParseQuery(raw)
	if err != nil {
		return ask{}, &queryError{"query", sanitize.Cut(raw, textBytes), "NAME=VALUE&...: " + err.Error()}
	}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		if !slices.Contains(asks, name) {
			return ask{}, &queryError{"parameter", sanitize.Cut(name, textBytes), fmt.Sprintf("one of %v", asks)}
		}
		if len(q[name]) > 1 {
			return ask{}, &queryError{name, sanitize.Cut(strings.Join(q[name], " and "), textBytes), "one value"}
		}
	}
	a := ask{limit: maxEntries, filter: strings.Fields(strings.ToLower(q.Get("filter")))}
	if v := q.Get("filter"); len(v) > maxFilterBytes {
		return a, &queryError{"filter", sanitize.Cut(v, 20), fmt.Sprintf("at most %d bytes", maxFilterBytes)}
	}
	for _, number := range []struct {
		name string
		to   *int
	}{{"offset", &a.offset}, {"limit", &a.limit}, {"peers", &a.question.Peers}, {"busiest", &a.question.Busiest}} {
		if v := q.Get(number.name); v != "" {
			n, err := strconv.Atoi(v)
			if err != nil || n < 0 {
				return a, &queryError{number.name, v, "a number, 0 or more"}
			}
			*number.to = n
		}
	}
	a.limit = min(a.limit, maxEntries)
	a.question = a.question.Bounded() // before anything is added to them
	if v := q.Get("tags"); v != "" {
		set, err := tags.ParseSet(v)
		if err != nil {
			return a, &queryError{"tags", sanitize.Cut(v, textBytes), "tags: " + err.Error()}
		}
		if n := patterns(set); n > state.MaxPatterns { // each instance would refuse it
			return a, &queryError{"tags", sanitize.Cut(v, textBytes), fmt.Sprintf("at most %d patterns", state.MaxPatterns)}
		}
		a.question.Tags = set
	}
	return a, nil
}

// patterns returns how many parts of a set are no ranges.
func patterns(set tags.Set) (n int) {
	for range set.Masks() {
		n++
	}
	return n
}

// ServeHTTP implements http.Handler.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	question, err := parseAsk(r.URL.RawQuery)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	select {
	case a.waiting <- struct{}{}:
		defer func() { <-a.waiting }()
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "other questions are being answered: ask again in a second", http.StatusServiceUnavailable)
		return
	}
	select {
	case a.turn <- struct{}{}:
	case <-r.Context().Done():
		return
	}
	body, err := a.take(r, question)
	if err != nil {
		http.Error(w, "the answer is no JSON: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writePatience)) // recorders have none
	_, _ = w.Write(append(body, '\n'))
}

// take answers in its turn, which ends before the answer is read: one that reads slowly holds
// up no other.
func (a *api) take(r *http.Request, q ask) ([]byte, error) {
	defer func() { <-a.turn }()
	return jsonline.Marshal(a.answer(r, q))
}

// answer looks once.
func (a *api) answer(r *http.Request, q ask) Bus {
	if a.entries == 0 && q.question.Peers+q.question.Busiest > 0 {
		a.entries = len(a.source.Look(r.Context(), state.Question{}).Rows)
	}
	// Bounded as a whole: with many entries each has few peers.
	each := peersOfAnAPI / max(1, a.entries)
	q.question.Peers, q.question.Busiest = min(q.question.Peers, each), min(q.question.Busiest, each)
	o := a.source.Look(r.Context(), q.question.Bounded())
	a.entries = len(o.Rows)
	b := Bus{Version: state.Version, Time: o.Time, Entries: []Entry{}}
	if o.Problem != nil {
		b.Problem = sanitize.Error(o.Problem)
	}
	for i := range o.Rows {
		row := &o.Rows[i]
		if !matches(searchable(row.Entry.Name, row.Entry.Host, row.Entry.Instance), q.filter) {
			continue
		}
		if b.Matched++; b.Matched > q.offset && len(b.Entries) < q.limit {
			b.Entries = append(b.Entries, entryOf(row))
		}
	}
	return b
}

func entryOf(row *overview.Row) Entry {
	e := Entry{
		Instance: row.Entry.Instance, Name: row.Entry.Name, Role: string(overview.RoleOf(&row.Entry)), Host: row.Entry.Host, PID: row.Entry.PID,
		Backend: row.Entry.Backend, Since: row.Entry.Since, State: row.State,
	}
	for _, addr := range row.Entry.Addresses {
		e.Addresses = append(e.Addresses, addr.String())
	}
	for _, way := range row.Entry.Ways {
		w := state.Way{Backend: way.Backend}
		for _, addr := range way.Addresses {
			w.Addresses = append(w.Addresses, addr.String())
		}
		e.Ways = append(e.Ways, w)
	}
	if row.Entry.Monitor.IsValid() {
		e.Monitor = row.Entry.Monitor.String()
	}
	if row.State == nil && row.Err != nil {
		e.Error = sanitize.Error(row.Err)
	}
	return e
}
