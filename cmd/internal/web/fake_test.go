// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/web"
	"tagbus/tags"
)

// fakeBus is a bus of which every answer has what was asked for. Publisher 3 does not
// answer, subscriber 1 is stalled, and subscriber 2 loses, at all of its publishers.
type fakeBus struct {
	publishers, subscribers, tags int
	rename                        func(string) string // of all peers
	wait                          func()              // what a look waits for; nil: nothing

	mu      sync.Mutex
	looks   int
	asked   state.Question
	askedOf []string // the instances of Ask
}

func (b *fakeBus) question() state.Question {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked
}

func instanceOf(i int) string { return fmt.Sprintf("publisher-%04d", i) }

// source returns what looks at the bus. Its rates follow from the time.
func (b *fakeBus) source() web.Source {
	var before map[string]*state.State
	return web.Source{
		Look: func(_ context.Context, q state.Question) overview.Overview {
			if b.wait != nil {
				b.wait()
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			b.looks++
			b.asked = q
			o := overview.Overview{Time: time.Now()}
			after := make(map[string]*state.State)
			for i := range b.publishers {
				row := overview.Row{Entry: entryOf(i), Before: before[instanceOf(i)]}
				if i == 3 {
					row.Err = errors.New("no answer in 900ms")
				} else {
					s := stateOf(i, b.subscribers, b.tags/max(1, b.publishers), q)
					b.name(&s)
					row.State, after[s.Instance] = &s, &s
				}
				o.Rows = append(o.Rows, row)
			}
			before = after
			return o
		},
		Ask: func(_ context.Context, row *overview.Row, q state.Question) (state.State, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.askedOf = append(b.askedOf, row.Entry.Instance)
			var i int
			_, err := fmt.Sscanf(row.Entry.Instance, "publisher-%d", &i)
			s := stateOf(i, b.subscribers, b.tags/b.publishers, q)
			b.name(&s)
			return s, err
		},
	}
}

func (b *fakeBus) name(s *state.State) {
	if b.rename == nil {
		return
	}
	s.Name, s.Host = b.rename(s.Name), b.rename(s.Host)
	for i := range s.Peers {
		s.Peers[i].Name, s.Peers[i].Host = b.rename(s.Peers[i].Name), b.rename(s.Peers[i].Host)
	}
}

func entryOf(i int) directory.Entry {
	return directory.Entry{
		Instance: instanceOf(i), Name: fmt.Sprintf("pub-%d", i), Host: fmt.Sprintf("host-%d", i%40), PID: 1000 + i, Backend: "tcp",
		Addresses: []netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 7000)},
		Tags:      tagsOf(i, 100), PageBytes: 1 << 17, MaxMessageBytes: 1 << 20, Since: time.Now().Add(-time.Hour),
		Monitor: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 9100),
	}
}

func tagsOf(i, n int) tags.Set {
	set, err := tags.Range(tags.Tag(i<<16), tags.Tag(i<<16+n-1))
	if err != nil {
		panic(err)
	}
	return set
}

// stateOf is the state of publisher i, at this time.
func stateOf(i, subscribers, known int, q state.Question) state.State {
	now := time.Now()
	n := uint64(now.UnixMilli()) * uint64(10+i)
	s := state.State{
		Version: state.Version, Time: now, Role: state.Publisher, Instance: instanceOf(i), Name: fmt.Sprintf("pub-%d", i),
		Host: fmt.Sprintf("host-%d", i%40), PID: 1000 + i, Since: now.Truncate(time.Hour).Add(-time.Hour), Program: "v1.0.0", Go: "go1.26", Backend: "tcp",
		Messages: n, PayloadBytes: n * 1000, Connected: subscribers, KnownTags: known,
		Sending: &state.Sending{QueueBytes: 4 << 20, PoolPages: 512, PoolFreePages: 400},
	}
	for j := range min(subscribers, q.Peers) {
		p := state.Peer{
			Instance: fmt.Sprintf("subscriber-%04d", (j*7+i)%max(1, subscribers)), Name: fmt.Sprintf("sub-%d", (j*7+i)%max(1, subscribers)), Host: fmt.Sprintf("sink-%d", j%40),
			PID: 5000 + j, Since: now.Truncate(time.Hour), Heard: now, RoundTrip: 0.0002, Messages: n, Bytes: n * 1000,
			Queued: new(1 << 20), QueueLimit: new(4 << 20), Lanes: []state.Lane{{Policy: "drop-newest", Queued: 1 << 20, QueueLimit: 4 << 20}},
		}
		switch p.Name {
		case "sub-1":
			p.StalledSince = now.Add(-7 * time.Second)
			s.Stalled++
		case "sub-2":
			p.Losses = []state.Loss{{Cause: state.Full, Messages: n / 10, First: now.Add(-time.Minute), Last: now.Truncate(time.Second)}}
			s.Losses = p.Losses
		}
		s.Peers = append(s.Peers, p)
	}
	tagState := func(t tags.Tag) state.Tag {
		rate := float64(t & 0xfff)
		return state.Tag{Tag: t, Messages: n, PayloadBytes: n * 100, Last: now, Peers: 3, MessageRate: &rate, ByteRate: &rate}
	}
	for j := range min(known, q.Busiest) {
		s.Busiest = append(s.Busiest, tagState(tags.Tag(i<<16+known-1-j)))
	}
	for t := range q.Tags.All() {
		if tagsOf(i, known).Contains(t) {
			s.Asked = append(s.Asked, tagState(t))
		}
	}
	return s
}

// frame is what the tests look at of one.
type frame struct {
	Seq     uint64
	View    string
	Scope   web.Scope
	Totals  struct{ Processes, Peers, Connections, Stalled, Losing, Unreachable, Tags, LeftOut int }
	History struct {
		Seq uint64
		T   []int64
		M   []*float64
	}
	Worst    []struct{ Kind, ID, Name, Status string }
	Troubles int
	Causes   []struct{ Cause string }
	Table    *frameTable
	Topology *struct {
		Grouped      bool
		Left, Right  []struct{ Label, Status string }
		Edges        []struct{ From, To, Count int }
		LeftOutLeft  int `json:"left_out_left"`
		LeftOutEdges int `json:"left_out_edges"`
	}
	Detail *struct {
		Process *struct{ Name string }
		Peer    *struct{ Name string }
		Peers   []struct{ ID, Name, Role, Status string }
		Tags    []struct{ Tag string }
		State   *struct{ Monitor string }
	}
	Tag *struct {
		Tag     string
		Sum     *struct{ Count uint64 }
		Servers []struct {
			Name  string
			Count uint64
		}
	}
}

type frameTable struct {
	Total, Matched, Offset int
	Rows                   []struct {
		ID, Name, Status, Tag, Cause, From, To string
		Rate                                   float64
	}
}

func (t *frameTable) names() (names []string) {
	for _, row := range t.Rows {
		names = append(names, row.Name)
	}
	return names
}

// viewing reads a stream in the place of a connection: it notes when how much came.
type viewing struct {
	header http.Header
	mu     sync.Mutex
	events []received
	stop   context.CancelFunc
	until  int           // stops after so many events
	gate   chan struct{} // nil, or what each write waits for
	gone   <-chan struct{}
}

type received struct {
	at   time.Time
	text string
}

func (v *viewing) Header() http.Header              { return v.header }
func (v *viewing) WriteHeader(int)                  {}
func (v *viewing) Flush()                           {}
func (v *viewing) SetWriteDeadline(time.Time) error { return nil }
func (v *viewing) SetReadDeadline(time.Time) error  { return nil }
func (v *viewing) Write(text []byte) (n int, err error) {
	if v.gate != nil {
		select {
		case <-v.gate:
		case <-v.gone:
			return 0, context.Canceled
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.events = append(v.events, received{time.Now(), string(text)})
	if len(v.events) == v.until {
		v.stop()
	}
	return len(text), nil
}

// view reads n frames of a stream.
func view(t *testing.T, p *web.Page, query string, n int) *viewing {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	v := &viewing{header: make(http.Header), stop: cancel, until: n}
	r := httptest.NewRequest(http.MethodGet, "/live?"+query, nil).WithContext(ctx)
	r.Host = "localhost"
	p.ServeHTTP(v, r)
	if len(v.events) != n {
		t.Fatalf("%s: got %d frames, want %d", query, len(v.events), n)
	}
	return v
}

// decode returns an event as a frame.
func decode(t *testing.T, event string) (f frame) {
	t.Helper()
	body, found := strings.CutPrefix(event, "data: ")
	if !found || !strings.HasSuffix(body, "\n\n") || strings.Count(body, "\n") != 2 {
		t.Fatalf("got %.80q, want one event with one line", event)
	}
	if err := json.Unmarshal([]byte(body), &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func firstFrame(t *testing.T, p *web.Page, query string) frame {
	t.Helper()
	return decode(t, view(t, p, query, 1).events[0].text)
}
