// SPDX-License-Identifier: Apache-2.0

package stateapi

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"

	"tagbus/internal/plain"
)

// Guard lets requests pass that address the server by an IP address, as localhost, or by the
// name of this host, and answers others with 421 and a text.
//
// A page of another site, shown by a browser on this host, could otherwise read what a
// server on loopback says: its site would give its own name the address 127.0.0.1 (DNS
// rebinding). The browser then names the site in the header Host.
func Guard(h http.Handler) http.Handler {
	host, _ := os.Hostname() // without one only addresses and localhost pass
	return guard(h, host)
}

// guard is Guard with the name of the host.
func guard(h http.Handler, hostname string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isOurs(r.Host, hostname) {
			want := "its IP address or as localhost"
			if hostname != "" {
				want = fmt.Sprintf("its IP address, as localhost or as %s", plain.Text(hostname))
			}
			refuse(w, http.StatusMisdirectedRequest, fmt.Sprintf("the request is for %q, which may be the name of another site: address this server by %s", plain.Cut(r.Host, maxShown), want))
			return
		}
		h.ServeHTTP(w, r)
	})
}

// isOurs reports whether what a request addresses can only be this host.
func isOurs(host, hostname string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
	if _, err := netip.ParseAddr(strings.Replace(host, "%25", "%", 1)); err == nil {
		return true
	}
	short, _, _ := strings.Cut(hostname, ".")
	switch {
	case host == "": // before HTTP/1.1; a browser always has one
		return true
	case strings.EqualFold(host, "localhost"):
		return true
	default:
		return strings.EqualFold(host, hostname) || strings.EqualFold(host, short)
	}
}

// sameOrigin reports whether a request comes from no page, or from one of this server, and
// answers it otherwise. A page of another site cannot read the answer anyway, but could
// take the places of all viewers.
func sameOrigin(w http.ResponseWriter, r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return true
	}
	if r.Header.Get("Sec-Fetch-Dest") == "document" { // a link that was followed
		return true
	}
	refuse(w, http.StatusForbidden, "the request comes from a page of another site")
	return false
}
