// SPDX-License-Identifier: Apache-2.0

// Package stateapi serves by HTTP what a program knows of itself.
//
//	GET /api/v1/state   a state.Process as JSON
//	GET /api/v1/events  the same as server-sent events, one a second
//	GET /api/v1/schema  the JSON schema of both
//
// The parameters of a request say how much the answer has, as state.Question does:
//
//	peers=N    at most so many peers, and so many that have gone, of each instance
//	busiest=N  at most so many tags, of the highest rates
//	tags=SET   and these tags
//
// Answers are read-only, and only for programs that address the server as it calls itself:
// see [Guard]. What a viewer costs is bounded: see [Feed].
//
// Imports: bus/state, tags, net/http.
package stateapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"tagbus/bus/state"
	"tagbus/cmd/internal/jsonline"
)

// Source returns the state of the program.
//
//   - q: which is within its limits.
//   - Threads: any, several at a time. Blocks: until the answer is there or ctx ends.
type Source func(ctx context.Context, q state.Question) (state.Process, error)

const (
	// maxAnswers is how many states are made at once; others are told to come again.
	maxAnswers = 4

	// patience is how long a source may take.
	patience = 3 * time.Second

	// writeTimeout is how long an answer, or an event, may take to be read.
	writeTimeout = 5 * time.Second

	// MaxEventBytes is how large an event may be, and so, as there is one a second, what
	// a viewer is sent at most.
	MaxEventBytes = 200_000
)

// API serves the state of a program. Close it.
//
// Threads: any.
type API struct {
	source Source
	feed   *Feed
	tokens chan struct{} // of answers being made
}

// New returns what serves the answers of a source.
func New(source Source) *API {
	return &API{source: source, feed: NewFeed(), tokens: make(chan struct{}, maxAnswers)}
}

// Close ends the events of all viewers. What comes later is told so.
func (a *API) Close() { a.feed.Close() }

// Register adds the paths to mux, behind [Guard].
func (a *API) Register(mux *http.ServeMux) {
	mux.Handle("GET /api/v1/state", Guard(http.HandlerFunc(a.serveState)))
	mux.Handle("GET /api/v1/events", Guard(http.HandlerFunc(a.serveEvents)))
	mux.Handle("GET /api/v1/schema", Guard(http.HandlerFunc(serveSchema)))
}

// serveState answers with one state.
func (a *API) serveState(w http.ResponseWriter, r *http.Request) {
	q, ok := admit(w, r)
	if !ok {
		return
	}
	select {
	case a.tokens <- struct{}{}:
		defer func() { <-a.tokens }()
	default:
		refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("%d answers are being made: ask again in a second", maxAnswers))
		return
	}
	text, err := a.answer(r.Context(), q)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, "the state is not known: "+err.Error())
		return
	}
	write(w, "application/json", append(text, '\n'))
}

// answer returns the answer to a question as JSON, in one line.
func (a *API) answer(ctx context.Context, q state.Question) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p, err := a.source(ctx, q)
	if err != nil {
		return nil, err
	}
	if p.Instances == nil {
		p.Instances = []state.State{} // not nil, which in JSON is no list
	}
	return jsonline.Marshal(p)
}

// serveEvents answers with a state each second, until the viewer goes.
func (a *API) serveEvents(w http.ResponseWriter, r *http.Request) {
	q, ok := admit(w, r)
	if !ok {
		return
	}
	key := fmt.Sprintf("%d %d %d %v", q.Peers, q.Busiest, q.LostTags, q.Tags)
	a.feed.Serve(w, r, key, func(ctx context.Context) ([]byte, error) { return a.answer(ctx, q) })
}

func serveSchema(w http.ResponseWriter, r *http.Request) {
	if sameOrigin(w, r) {
		write(w, "application/schema+json", []byte(state.Schema))
	}
}

// admit returns the question of a request, or answers it and returns false.
func admit(w http.ResponseWriter, r *http.Request) (q state.Question, ok bool) {
	if !sameOrigin(w, r) {
		return q, false
	}
	q, err := ParseQuestion(r.URL.RawQuery)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return q, false
	}
	return q, true
}

// write answers with a document.
func write(w http.ResponseWriter, contentType string, body []byte) {
	h := w.Header()
	harden(h)
	h.Set("Content-Type", contentType)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout)) // recorders have none
	_, _ = w.Write(body)                                                             // the reader may have gone
}

// refuse answers with a text that says why there is no answer.
func refuse(w http.ResponseWriter, status int, why string) {
	h := w.Header()
	harden(h)
	if status == http.StatusServiceUnavailable {
		h.Set("Retry-After", "1")
	}
	h.Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, why)
}

// harden keeps an answer from being stored, or taken for a page.
func harden(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}
