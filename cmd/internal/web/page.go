// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"
)

const (
	// MaxViewers is how many streams there are at most. Another one is told to come again.
	MaxViewers = 32

	// BytesPerSecond limits what a viewer gets in any second. A frame for which there is no
	// room is left out.
	BytesPerSecond = 200_000

	// frameBytes is how large a table makes a frame. Above it, it has fewer rows.
	frameBytes = BytesPerSecond / 2

	// writePatience is how long a viewer may take to read a frame.
	writePatience = 10 * time.Second
)

// Page shows a bus, or a process.
//
// Threads: any.
type Page struct {
	scope  Scope
	hub    *hub
	api    *api
	cancel context.CancelFunc
	mux    *http.ServeMux
	whole  http.Handler // mux, guarded
}

// New returns a page. Close it.
//
//   - scope: what it is about; a page of a process has its instance.
//   - source: what it shows.
func New(scope Scope, source Source) *Page {
	ctx, cancel := context.WithCancel(context.Background())
	p := &Page{scope: scope, hub: newHub(ctx, source), cancel: cancel, mux: http.NewServeMux()}
	p.mux.HandleFunc("/live", p.live)
	p.mux.HandleFunc("/", serveFile)
	p.whole = guard(p.mux)
	return p
}

// WithAPI makes the page answer /api/v1/bus, which asks a source of its own.
func (p *Page) WithAPI(source Source) *Page {
	p.api = newAPI(source)
	p.mux.Handle("/api/v1/bus", p.api)
	return p
}

// ServeHTTP implements http.Handler.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.whole.ServeHTTP(w, r) }

// Close ends the streams and the looks.
//
//   - Blocks: until a look that has begun is over, which takes no longer than its patience.
func (p *Page) Close() {
	p.cancel()
	p.hub.running.Wait()
}

// live streams what one viewer shows.
func (p *Page) live(w http.ResponseWriter, r *http.Request) {
	s, err := parseShown(r.URL.Query())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		return
	}
	v, ok := p.hub.join(s)
	if !ok {
		header.Set("Content-Type", "text/plain; charset=utf-8")
		header.Set("Retry-After", "5")
		http.Error(w, fmt.Sprintf("%d viewers look already: close a page, and this one goes on by itself", MaxViewers), http.StatusServiceUnavailable)
		return
	}
	defer p.hub.leave(v)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // a server with one takes it for the end of the viewer
	_ = control.SetWriteDeadline(time.Now().Add(writePatience))
	w.WriteHeader(http.StatusOK)
	if control.Flush() != nil {
		return
	}
	p.send(r.Context(), v, func(event []byte) error {
		_ = control.SetWriteDeadline(time.Now().Add(writePatience))
		if _, err := w.Write(event); err != nil {
			return err
		}
		return control.Flush()
	})
}

// send writes a frame of each model, until the viewer goes or the page ends.
func (p *Page) send(ctx context.Context, v *viewer, write func([]byte) error) {
	var budget budget
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.hub.ctx.Done():
			return
		case m := <-v.models:
			event, upTo, err := p.event(m, v.shown)
			if err != nil {
				return
			}
			if !budget.take(len(event), time.Now()) {
				continue
			}
			v.shown.since = upTo // the viewer has the history up to here
			if write(event) != nil {
				return
			}
		}
	}
}

// event returns the frame of a model as an event.
//
//   - upTo: the look up to which the viewer has the history then.
func (p *Page) event(m *model, s shown) (event []byte, upTo uint64, err error) {
	for {
		f := m.frame(&s, p.scope.in(m))
		if upTo = s.since; f.History != nil {
			upTo = f.History.Seq
		}
		event, err := encode(f)
		if err != nil || len(event) <= frameBytes || s.rows <= fewRows {
			return event, upTo, err
		}
		s.rows /= 2
	}
}

// budget is what a viewer got in the last second.
type budget struct{ sent []sent }

type sent struct {
	at    time.Time
	bytes int
}

// take takes n bytes, if there is room for so many in this second.
func (b *budget) take(n int, at time.Time) bool {
	b.sent = slices.DeleteFunc(b.sent, func(s sent) bool { return at.Sub(s.at) >= time.Second })
	sum := n
	for _, s := range b.sent {
		sum += s.bytes
	}
	if sum > BytesPerSecond {
		return false
	}
	b.sent = append(b.sent, sent{at, n})
	return true
}
