// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
)

// policy is the Content-Security-Policy of every answer: nothing comes from elsewhere, no
// script or style stands in the page itself, and no other page shows this one in a frame.
const policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard answers GET and HEAD for hosts that are this one, and sets the headers that keep a
// browser from doing more than it is told.
func guard(next http.Handler) http.Handler {
	name, _ := os.Hostname() // without it, one name less
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
		case !knownHost(r.Host, name):
			http.Error(w, "this host has another name: use its IP address, localhost, or the name that the command hostname prints", http.StatusMisdirectedRequest)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// knownHost reports whether a Host header names this host. A page of another site whose
// name was made to resolve to this host (DNS rebinding) has its own name there.
//
//   - name: of this host.
func knownHost(host, name string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), ".")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	short, _, _ := strings.Cut(name, ".")
	for _, known := range []string{"localhost", name, short} {
		if known != "" && strings.EqualFold(host, known) {
			return true
		}
	}
	return false
}
