// SPDX-License-Identifier: Apache-2.0

package door

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"tagbus/acl"
	"tagbus/directory/etcd/internal/guard"
	"tagbus/identity"
)

// Roster says which callers are more than clients.
//
// Threads: any.
type Roster struct {
	admins, members []acl.Who
	hosts           []string // of Members without TLS: names and addresses
	networks        []netip.Prefix

	own   func() identity.Principal // nil: without TLS
	known func() []string           // hosts of the members of the directory; may be empty

	mutex    sync.Mutex
	resolved map[string]resolution
}

// resolution are the addresses of a host, as they were looked up.
type resolution struct {
	at    time.Time
	found []netip.Addr
}

// NewRoster returns one.
//
//   - admins: patterns as package acl has them. Without TLS there are none.
//   - members: such patterns; without TLS names and addresses of hosts, and networks.
//   - own: returns what the own certificate says; nil: without TLS.
//   - known: returns the hosts of the members of the directory.
//   - Errors: what is wrong with one of them, for a person.
func NewRoster(admins, members []string, own func() identity.Principal, known func() []string) (*Roster, error) {
	r := &Roster{own: own, known: known, resolved: make(map[string]resolution)}
	for _, text := range admins {
		who, err := acl.ParseWho(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text, err)
		}
		r.admins = append(r.admins, who)
	}
	for _, text := range members {
		if own != nil {
			who, err := acl.ParseWho(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", text, err)
			}
			r.members = append(r.members, who)
		} else if network, err := netip.ParsePrefix(text); err == nil {
			r.networks = append(r.networks, network)
		} else if text == "" || strings.ContainsAny(text, "/@, *") || net.ParseIP(text) == nil && strings.Contains(text, ":") {
			return nil, fmt.Errorf("%s: without --cert members are named by host, address or network, such as 10.0.0.0/24", text)
		} else {
			r.hosts = append(r.hosts, text)
		}
	}
	return r, nil
}

// certified returns the rank of a caller with a certificate.
func (r *Roster) certified(who identity.Principal) guard.Rank {
	switch {
	case who.IsAnonymous():
		return guard.Client
	case who == r.own() || matches(r.admins, who):
		return guard.Administrator
	case matches(r.members, who):
		return guard.Joiner
	}
	names := who.Names()
	for _, host := range r.known() {
		host = strings.ToLower(host)
		if host != "localhost" && slices.Contains(names, "dns:"+host) { // that name is no host's own
			return guard.Member
		}
	}
	return guard.Client
}

func matches(patterns []acl.Who, who identity.Principal) bool {
	return slices.ContainsFunc(patterns, func(w acl.Who) bool { return w.Matches(who) })
}

// remote returns the rank of a caller without a certificate on another host.
func (r *Roster) remote(at netip.Addr) guard.Rank {
	at = at.Unmap().WithZone("")
	switch {
	case slices.ContainsFunc(r.networks, func(n netip.Prefix) bool { return n.Contains(at) }):
		return guard.Joiner
	case r.isOneOf(at, r.hosts):
		return guard.Joiner
	case r.isOneOf(at, r.known()):
		return guard.Member
	}
	return guard.Client
}

// isOneOf reports whether an address is that of a host.
func (r *Roster) isOneOf(at netip.Addr, hosts []string) bool {
	return slices.ContainsFunc(hosts, func(host string) bool { return slices.Contains(r.resolve(host), at) })
}

const (
	resolvedFor = 10 * time.Second // an answer of a name server is used again
	resolveTime = 2 * time.Second
)

// resolve returns the addresses of a host; those of before, if it cannot be looked up.
func (r *Roster) resolve(host string) []netip.Addr {
	if at, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{at.Unmap().WithZone("")}
	}
	r.mutex.Lock()
	known, ok := r.resolved[host]
	r.mutex.Unlock()
	if ok && time.Since(known.at) < resolvedFor {
		return known.found
	}
	ctx, cancel := context.WithTimeout(context.Background(), resolveTime)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		found = known.found
	}
	for i := range found {
		found[i] = found[i].Unmap().WithZone("")
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.resolved[host] = resolution{time.Now(), found}
	return found
}
