// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/web"
)

// TestAViewerOfAServerBefore has seen more looks than this server has done.
func TestAViewerOfAServerBefore(t *testing.T) {
	onPage(t, &fakeBus{publishers: 2, subscribers: 1, tags: 2}, func(t *testing.T, p *web.Page) {
		view(t, p, "view=overview", 10)
		if f := firstFrame(t, p, "view=overview&since=500"); len(f.History.T) < 10 {
			t.Errorf("got a history of %d looks, want that of this server", len(f.History.T))
		}
	})
}

// TestAClockThatIsSetBack: times of a chart only grow.
func TestAClockThatIsSetBack(t *testing.T) {
	b := &fakeBus{publishers: 2, subscribers: 1, tags: 2}
	source := b.source()
	look, looks := source.Look, 0
	source.Look = func(ctx context.Context, q state.Question) overview.Overview {
		o := look(ctx, q)
		if looks++; looks > 10 {
			o.Time = o.Time.Add(-5500 * time.Millisecond)
		}
		return o
	}
	synctest.Test(t, func(t *testing.T) {
		p := web.New(web.Scope{Of: "bus"}, source)
		view(t, p, "view=overview", 12)
		f := firstFrame(t, p, "view=overview")
		if n := len(f.History.T); n < 6+1 || n > 6+3 {
			t.Errorf("got %d points, want those before the new time, and the new ones", len(f.History.T))
		}
		for i := 1; i < len(f.History.T); i++ {
			if f.History.T[i] <= f.History.T[i-1] {
				t.Errorf("point %d is at %d, the one before at %d", i, f.History.T[i], f.History.T[i-1])
			}
		}
		p.Close()
	})
}

// TestTroublesAreCounted, also those for which there is no room.
func TestTroublesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := web.New(web.Scope{Of: "bus"}, manySource(func(s *state.State) {
			s.Stalled = len(s.Peers)
			for i := range s.Peers {
				s.Peers[i].StalledSince = s.Time.Add(-time.Second)
			}
		}))
		f := firstFrame(t, p, "view=overview")
		if len(f.Worst) != 3 || f.Troubles != 20 { // two, and 18 more
			t.Errorf("got %d in trouble and %d rows, want 20 and 3", f.Troubles, len(f.Worst))
		}
		p.Close()
	})
}

// TestInventedCausesAndPolicies of a peer do not make a frame that is too large to be sent.
func TestInventedCausesAndPolicies(t *testing.T) {
	long := strings.Repeat("x", 200)
	synctest.Test(t, func(t *testing.T) {
		p := web.New(web.Scope{Of: "bus"}, manySource(func(s *state.State) {
			for i := range 500 {
				s.Losses = append(s.Losses, state.Loss{Cause: state.Cause(fmt.Sprintf("%d%s", i, long)), Messages: 1, Last: s.Time})
			}
			for i := range s.Peers {
				s.Peers[i].Losses = s.Losses
				for j := range 100 {
					s.Peers[i].Lanes = append(s.Peers[i].Lanes, state.Lane{Policy: fmt.Sprintf("%d%s", j, long)})
				}
			}
		}))
		for _, query := range []string{"view=overview", "view=processes", "view=peers", "view=losses", "view=topology", "view=instance&id=" + instanceOf(0)} {
			if n := len(view(t, p, query, 1).events[0].text); n > 200_000 {
				t.Errorf("%s: got %d bytes, want at most 200,000", query, n)
			}
		}
		p.Close()
	})
}

// manySource is a bus of one publisher with 20 peers, which a test changes.
func manySource(change func(*state.State)) web.Source {
	one := func(q state.Question) state.State {
		s := stateOf(0, 20, 1, q)
		change(&s)
		return s
	}
	return web.Source{
		Look: func(_ context.Context, q state.Question) overview.Overview {
			s := one(q)
			return overview.Overview{Time: time.Now(), Rows: []overview.Row{{Entry: entryOf(0), State: &s}}}
		},
		Ask: func(_ context.Context, _ *overview.Row, q state.Question) (state.State, error) { return one(q), nil },
	}
}

// TestManySlowInstances: viewers of instances that do not answer hold up no other for long.
func TestManySlowInstances(t *testing.T) {
	b := &fakeBus{publishers: 40, subscribers: 1}
	source := b.source()
	source.Ask = func(ctx context.Context, _ *overview.Row, _ state.Question) (state.State, error) {
		<-ctx.Done()
		return state.State{}, ctx.Err()
	}
	synctest.Test(t, func(t *testing.T) {
		p := web.New(web.Scope{Of: "bus"}, source)
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 30 {
			r := httptest.NewRequest(http.MethodGet, "/live?view=instance&id="+instanceOf(i+5), nil).WithContext(ctx)
			r.Host = "localhost"
			go p.ServeHTTP(&viewing{header: make(http.Header), stop: cancel}, r)
		}
		synctest.Wait()
		events := view(t, p, "view=overview", 4).events
		if gap := events[3].at.Sub(events[2].at); gap > 2*time.Second {
			t.Errorf("got a frame %v after the one before, want one a second", gap)
		}
		cancel()
		synctest.Wait()
		p.Close()
	})
}

// slowReader takes nothing of an answer until it is let go.
type slowReader struct {
	*httptest.ResponseRecorder
	reads chan struct{}
}

func (r slowReader) Write(text []byte) (int, error) {
	<-r.reads
	return r.ResponseRecorder.Write(text)
}

// TestASlowReaderOfTheAPIHoldsUpNoOther, as the answers are made one after the other.
func TestASlowReaderOfTheAPIHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &fakeBus{publishers: 2}
		p := web.New(web.Scope{Of: "bus"}, b.source()).WithAPI(b.source())
		r := httptest.NewRequest(http.MethodGet, "/api/v1/bus", nil)
		r.Host = "localhost"
		slow := slowReader{httptest.NewRecorder(), make(chan struct{})}
		go p.ServeHTTP(slow, r)
		synctest.Wait()
		ended := make(chan int, 1)
		go func() { ended <- answer(p, http.MethodGet, "/api/v1/bus", nil).Code }()
		synctest.Wait()
		select {
		case code := <-ended:
			if code != http.StatusOK {
				t.Errorf("got status %d", code)
			}
		default:
			t.Error("the answer waits for the one that is not read")
		}
		close(slow.reads)
		synctest.Wait()
		p.Close()
	})
}
