// SPDX-License-Identifier: Apache-2.0

package stateapi

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"

	"tagbus/internal/sanitize"
)

// Guard lets requests pass that address the server by an IP address, as localhost, or by the
// name of this host, alone or with a domain of its resolver, and answers others with 421 and
// a text.
//
// A page of another site, shown by a browser on this host, could otherwise read what a
// server on loopback says: its site would give its own name the address 127.0.0.1 (DNS
// rebinding). The browser then names the site in the header Host.
func Guard(h http.Handler) http.Handler {
	host, _ := os.Hostname()                       // without one only addresses and localhost pass
	resolver, _ := os.ReadFile("/etc/resolv.conf") // without one the name has no other domains
	return guard(h, names(host, string(resolver)))
}

// names returns what this host may be called, its own name first.
//
//   - resolver: the configuration of the resolver, resolv.conf(5).
func names(hostname, resolver string) []string {
	if hostname == "" {
		return nil
	}
	short, _, _ := strings.Cut(hostname, ".")
	all := []string{hostname, short}
	for line := range strings.Lines(resolver) {
		if words := strings.Fields(line); len(words) > 1 && (words[0] == "search" || words[0] == "domain") {
			for _, domain := range words[1:] {
				if domain = strings.Trim(domain, "."); domain != "" { // "." is the root, and the name is short
					all = append(all, short+"."+domain)
				}
			}
		}
	}
	return all
}

// guard is Guard with the names of the host.
func guard(h http.Handler, names []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isOurs(r.Host, names) {
			want := "its IP address or as localhost"
			if len(names) > 0 {
				want = fmt.Sprintf("its IP address, as localhost or as %s", sanitize.Text(names[0]))
			}
			refuse(w, http.StatusMisdirectedRequest, fmt.Sprintf("the request is for %q, which may be the name of another site: address this server by %s", sanitize.Cut(r.Host, maxShown), want))
			return
		}
		h.ServeHTTP(w, r)
	})
}

// isOurs reports whether what a request addresses can only be this host.
func isOurs(host string, names []string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	if _, err := netip.ParseAddr(strings.Replace(host, "%25", "%", 1)); err == nil {
		return true
	}
	// Before HTTP/1.1 there may be no host; a browser always has one.
	return host == "" || strings.EqualFold(host, "localhost") ||
		slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(host, name) })
}

// FromElsewhere reports whether a page of another site wants something else than to be left
// for this one. It could not read the answer, but take the places of all viewers.
func FromElsewhere(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return false
	}
	return r.Header.Get("Sec-Fetch-Dest") != "document" // a link that was followed
}

// sameOrigin reports whether a request comes from no page, or from one of this server, and
// answers it otherwise.
func sameOrigin(w http.ResponseWriter, r *http.Request) bool {
	if FromElsewhere(r) {
		refuse(w, http.StatusForbidden, "the request comes from a page of another site")
		return false
	}
	return true
}
