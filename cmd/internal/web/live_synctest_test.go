// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/cmd/internal/web"
	"tagbus/internal/testkit"
)

// onPage runs a test with a page of a bus, in faked time.
func onPage(t *testing.T, b *fakeBus, test func(t *testing.T, p *web.Page)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := web.New(web.Scope{Of: "bus", Name: "/run/bus"}, b.source())
		test(t, p)
		p.Close()
	})
}

// size is that of the bus that the issue wants to be shown. The race detector, which finds the same in
// a tenth of it, would take minutes.
func size() *fakeBus {
	if testkit.Race {
		return &fakeBus{publishers: 100, subscribers: 100, tags: 10_000}
	}
	return &fakeBus{publishers: 1000, subscribers: 1000, tags: 100_000}
}

// TestWhatAViewerGetsIsBounded counts the bytes of any second, of each view, at 1,000
// publishers, 1,000 subscribers and 100,000 tags, whatever they are called.
func TestWhatAViewerGetsIsBounded(t *testing.T) {
	long := strings.Repeat(`"\<`, 200)
	for name, rename := range map[string]func(string) string{"usual names": nil, "hostile names": func(string) string { return long }} {
		b := size()
		if rename != nil { // what a row has does not depend on how many there are
			b.publishers, b.rename = min(150, b.publishers), rename
		}
		onPage(t, b, func(t *testing.T, p *web.Page) {
			for _, query := range []string{
				"view=overview", "view=processes&rows=1000", "view=peers&rows=1000&sort=rate", "view=tags&rows=1000", "view=losses&rows=1000",
				"view=topology", "view=instance&id=" + instanceOf(5), "view=tag&tag=0x50001",
			} {
				events := view(t, p, query, 2).events
				sum := 0
				for _, e := range events {
					if e.at.Sub(events[0].at) < time.Second {
						sum += len(e.text)
					}
				}
				sum = max(sum, len(events[1].text))
				if sum > 200_000 {
					t.Errorf("%s, %s: got %d bytes in a second, want at most 200,000", query, name, sum)
				}
				t.Logf("%s, %s: %d bytes", query, name, sum)
			}
		})
	}
}

// TestOneLookServesAllViewers counts looks with three viewers, with none, and again. Without viewers
// looks go on for the history.
func TestOneLookServesAllViewers(t *testing.T) {
	b := &fakeBus{publishers: 10, subscribers: 5, tags: 100}
	onPage(t, b, func(t *testing.T, p *web.Page) {
		looks := func() int {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.looks
		}
		time.Sleep(time.Minute)
		before := looks()
		if before < 58 || before > 62 {
			t.Errorf("got %d looks in a minute without a viewer, want one a second", before)
		}
		done := make(chan struct{})
		for _, query := range []string{"view=overview", "view=processes", "view=peers"} {
			go func() {
				view(t, p, query, 11)
				done <- struct{}{}
			}()
		}
		for range 3 {
			<-done
		}
		if n := looks() - before; n < 10 || n > 13 {
			t.Errorf("got %d looks in 10 s with three viewers, want one a second", n)
		}
		again := decode(t, view(t, p, "view=overview", 1).events[0].text)
		if n := len(again.History.T); n < 70 || n > 76 {
			t.Errorf("got a history of %d looks, want that of the time without a viewer, too", n)
		}
		if first, second := again.History.M[0], again.History.M[1]; first != nil || second == nil || *second <= 0 {
			t.Errorf("got the rates %v and %v, want none at the first look and one at the second", first, second)
		}
	})
}

// request asks for a stream.
func request(ctx context.Context) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/live?view=losses", nil).WithContext(ctx)
	r.Host = "localhost"
	return r
}

// TestTheHistoryIsBounded: an hour of looks and a day of means, in frames of 1,200 points at most,
// and a viewer gets of it what it lacks.
func TestTheHistoryIsBounded(t *testing.T) {
	onPage(t, &fakeBus{publishers: 2, subscribers: 1, tags: 2}, func(t *testing.T, p *web.Page) {
		time.Sleep(3 * time.Hour)
		var times []int64
		var last uint64
		for i, e := range view(t, p, "view=overview", 8).events {
			f := decode(t, e.text)
			if n := len(f.History.T); n == 0 || n > 1200 || len(e.text) > 100_000 {
				t.Fatalf("got %d points and %d bytes in frame %d, want 1 to 1,200 points", n, len(e.text), i)
			}
			times, last = append(times, f.History.T...), f.History.Seq
		}
		if n := len(times); n < 3600+235 || n > 3600+260 {
			t.Errorf("got a history of %d points, want an hour of looks and two hours of means", n)
		}
		if !slices.IsSorted(times) || times[0] > times[len(times)-1]-179*60_000 {
			t.Errorf("got points from %d to %d ms, want three hours in their order", times[0], times[len(times)-1])
		}
		some := decode(t, view(t, p, fmt.Sprintf("view=overview&since=%d", last-10), 1).events[0].text)
		if n := len(some.History.T); n < 10 || n > 14 {
			t.Errorf("got %d points for a viewer that lacks 10", n)
		}
	})
}

// TestASlowViewerMissesFrames, and what it reads next is new.
func TestASlowViewerMissesFrames(t *testing.T) {
	onPage(t, &fakeBus{publishers: 2, subscribers: 1, tags: 2}, func(t *testing.T, p *web.Page) {
		ctx, cancel := context.WithCancel(t.Context())
		slow := &viewing{header: make(http.Header), stop: cancel, gate: make(chan struct{}), gone: ctx.Done(), until: 3}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			p.ServeHTTP(slow, request(ctx))
		}()
		for range 3 {
			time.Sleep(9500 * time.Millisecond)
			slow.gate <- struct{}{}
			synctest.Wait()
		}
		<-ended
		var seqs []uint64
		for _, e := range slow.events {
			seqs = append(seqs, decode(t, e.text).Seq)
		}
		if len(seqs) != 3 || seqs[1]-seqs[0] < 8 || seqs[2]-seqs[1] < 8 {
			t.Errorf("got frames %v, want three with others left out between", seqs)
		}
	})
}

// TestTooManyViewersAreToldToComeAgain.
func TestTooManyViewersAreToldToComeAgain(t *testing.T) {
	onPage(t, &fakeBus{publishers: 2, subscribers: 1, tags: 2}, func(t *testing.T, p *web.Page) {
		ctx, cancel := context.WithCancel(t.Context())
		for range web.MaxViewers {
			go func() {
				p.ServeHTTP(&viewing{header: make(http.Header), stop: cancel}, request(ctx))
			}()
		}
		synctest.Wait()
		w := answer(p, http.MethodGet, "/live", nil)
		if want := "32 viewers look already: close a page, and this one goes on by itself\n"; w.Code != http.StatusServiceUnavailable || w.Body.String() != want {
			t.Errorf("got status %d and %q, want 503 and %q", w.Code, w.Body, want)
		}
		cancel()
		synctest.Wait()
		view(t, p, "view=losses", 1)
	})
}

// TestAViewerIsNotKeptWaiting: what it shows and was not asked for comes soon. Each look takes a while,
// in which the viewer reads what there is: else the answer could overtake that on a busy machine, as
// the newest frame comes in the place of one that was not read.
func TestAViewerIsNotKeptWaiting(t *testing.T) {
	const takes = time.Millisecond
	b := &fakeBus{publishers: 10, subscribers: 5, tags: 100, wait: func() { time.Sleep(takes) }}
	onPage(t, b, func(t *testing.T, p *web.Page) {
		view(t, p, "view=overview", 3)
		time.Sleep(300 * time.Millisecond)
		start := time.Now()
		events := view(t, p, "view=instance&id="+instanceOf(5), 2).events
		if f := decode(t, events[0].text); f.Detail != nil || events[0].at.Sub(start) != 0 {
			t.Errorf("got a first frame after %v with %v, want one at once without it", events[0].at.Sub(start), f.Detail)
		}
		if f := decode(t, events[1].text); f.Detail == nil || len(f.Detail.Peers) != 5 || events[1].at.Sub(start) != takes {
			t.Errorf("got the answer after %v: %+v", events[1].at.Sub(start), f.Detail)
		}
		if diff := cmp.Diff([]string{instanceOf(5)}, b.askedOf); diff != "" {
			t.Errorf("instances asked, want (-) and got (+) differ:\n%s", diff)
		}
	})
}

func TestViews(t *testing.T) {
	b := &fakeBus{publishers: 30, subscribers: 20, tags: 3000}
	onPage(t, b, func(t *testing.T, p *web.Page) {
		last := func(query string) frame { return decode(t, view(t, p, query, 2).events[1].text) }

		f := last("view=overview")
		if f.Totals.Processes != 30 || f.Totals.Peers != 20 || f.Totals.Stalled != 29 || f.Totals.Unreachable != 1 {
			t.Errorf("got totals %+v", f.Totals)
		}
		if w := f.Worst; len(w) != 3 || w[0].Status != "unreachable" || w[0].Name != "pub-3" || w[1].Name != "sub-1" || w[1].Status != "stalled" || w[2].Name != "sub-2" || w[2].Status != "losing" {
			t.Errorf("got worst %+v, want the unreachable, the stalled and the losing one", w)
		}
		f = last("view=processes&sort=rate&order=desc&rows=3&offset=1")
		if diff := cmp.Diff([]string{"pub-28", "pub-27", "pub-26"}, f.Table.names()); diff != "" || f.Table.Total != 30 || f.Table.Offset != 1 {
			t.Errorf("table %+v, want (-) and got (+) differ:\n%s", f.Table, diff)
		}
		f = last("view=processes&filter=Host-7+pub&sort=name")
		if diff := cmp.Diff([]string{"pub-7"}, f.Table.names()); diff != "" || f.Table.Matched != 1 {
			t.Errorf("filter: want (-) and got (+) differ:\n%s", diff)
		}
		f = last("view=peers&rows=2")
		if diff := cmp.Diff([]string{"sub-1", "sub-2"}, f.Table.names()); diff != "" || f.Table.Total != 20 {
			t.Errorf("the worst come first: want (-) and got (+) differ:\n%s", diff)
		}
		f = last("view=tags&rows=1")
		if f.Table.Total == 0 || f.Totals.Tags != 2900 || f.Table.Rows[0].Rate != 99 {
			t.Errorf("got %d tags of %d, the busiest %+v", f.Table.Total, f.Totals.Tags, f.Table.Rows)
		}
		f = last("view=losses&filter=pub-5&rows=5")
		if f.Table.Matched != 1 || f.Table.Rows[0].From != "pub-5" || f.Table.Rows[0].To != "sub-2" || f.Table.Rows[0].Cause != "full" {
			t.Errorf("got losses %+v", f.Table)
		}
		f = last("view=tag&tag=0x50001")
		if f.Tag.Tag != "0x0000000000050001" || f.Tag.Sum == nil || len(f.Tag.Servers) != 1 || f.Tag.Servers[0].Name != "pub-5" || f.Tag.Servers[0].Count == 0 {
			t.Errorf("got tag %+v", f.Tag)
		}
		f = last("view=instance&id=subscriber-0002")
		if f.Detail.Process != nil || f.Detail.Peer.Name != "sub-2" || len(f.Detail.Peers) != 29 || f.Detail.Peers[0].Role != "publisher" {
			t.Errorf("got detail %+v, want a subscriber with 29 publishers", f.Detail)
		}
		f = last("view=instance&id=nothing")
		if f.Detail == nil || f.Detail.Process != nil || f.Detail.Peer != nil {
			t.Errorf("got detail %+v, want an empty one", f.Detail)
		}
	})
}

// TestTopologyLeavesOutAndSaysSo: few are drawn one by one, many by host, and the worst hosts
// of more.
func TestTopologyLeavesOutAndSaysSo(t *testing.T) {
	onPage(t, &fakeBus{publishers: 20, subscribers: 10}, func(t *testing.T, p *web.Page) {
		f := decode(t, view(t, p, "view=topology", 2).events[1].text).Topology
		if f.Grouped || len(f.Left) != 20 || len(f.Right) != 10 || len(f.Edges) != 190 || f.LeftOutLeft+f.LeftOutEdges != 0 {
			t.Errorf("got grouped %v, %d and %d nodes, %d edges, %d left out", f.Grouped, len(f.Left), len(f.Right), len(f.Edges), f.LeftOutEdges)
		}
		f = decode(t, view(t, p, "view=topology&filter=pub-7", 1).events[0].text).Topology
		if len(f.Left) != 1 || f.Left[0].Label != "pub-7" || len(f.Right) != 10 {
			t.Errorf("got %d and %d nodes, want those of one publisher", len(f.Left), len(f.Right))
		}
	})
	onPage(t, size(), func(t *testing.T, p *web.Page) {
		f := decode(t, view(t, p, "view=topology", 2).events[1].text).Topology
		if !f.Grouped || len(f.Left) != 24 || f.LeftOutLeft != 16 || len(f.Edges) > 300 {
			t.Errorf("got grouped %v, %d hosts and %d left out, %d edges", f.Grouped, len(f.Left), f.LeftOutLeft, len(f.Edges))
		}
	})
}

// TestTextsOfPeersAreSafeAndShort: what a peer says is escaped before the browser sees it.
func TestTextsOfPeersAreSafeAndShort(t *testing.T) {
	b := &fakeBus{publishers: 2, subscribers: 2, rename: func(s string) string {
		if strings.HasPrefix(s, "sub-0") {
			return "<img src=x onerror=alert(1)>"
		}
		return "\u202e\x00\n" + strings.Repeat("x", 5000)
	}}
	onPage(t, b, func(t *testing.T, p *web.Page) {
		text := view(t, p, "view=peers", 1).events[0].text
		names := decode(t, text).Table.names()
		if len(text) > 4000 || len(names) != 2 {
			t.Fatalf("got %d bytes and names %q", len(text), names)
		}
		for _, name := range names {
			if name != "<img src=x onerror=alert(1)>" && (!strings.HasPrefix(name, `"\u202e\x00\nxxx`) || len(name) > 200) {
				t.Errorf("got name %q", name)
			}
		}
	})
}
