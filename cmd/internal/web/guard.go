// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"

	"tagbus/cmd/internal/stateapi"
)

// policy is the Content-Security-Policy of every answer: nothing comes from elsewhere, no
// script or style stands in the page itself, and no other page shows this one in a frame.
const policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard answers GET and HEAD for hosts that are this one, and sets the headers that keep a
// browser from doing more than it is told.
func guard(next http.Handler) http.Handler {
	next = stateapi.Guard(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			header.Set("Allow", "GET, HEAD")
			http.Error(w, "the page only shows: GET and HEAD", http.StatusMethodNotAllowed)
		case stateapi.FromElsewhere(r):
			http.Error(w, "the request comes from a page of another site", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
