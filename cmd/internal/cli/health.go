// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// healthPatience is how long an event loop may take to turn.
const healthPatience = 3 * time.Second

// health answers /healthz: 200 while a restart would cure nothing, and otherwise 503
// with the reason as text. What the network, the directory and other programs do wrong
// is in the metrics.
//
// Threads: any.
type health struct {
	alive atomic.Pointer[func(context.Context) error] // nil: the command is starting
}

// ServeHTTP implements http.Handler.
func (h *health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	alive := h.alive.Load()
	if alive == nil {
		fmt.Fprintln(w, "ok: starting")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), healthPatience)
	defer cancel()
	if err := (*alive)(ctx); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, Text(err))
		return
	}
	fmt.Fprintln(w, "ok")
}

// Watch makes /healthz ask alive, which is to return why the command does not work, or
// nil. Until then the command is starting.
func (s *MetricsServer) Watch(alive func(context.Context) error) {
	if s != nil {
		s.health.alive.Store(&alive)
	}
}
