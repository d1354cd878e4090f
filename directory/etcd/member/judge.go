// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"net/url"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver"

	"tagbus/directory/etcd/internal/guard"
)

// server returns the server of etcd; nil before it runs.
func (m *Member) server() *etcdserver.EtcdServer {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.etcd == nil {
		return nil
	}
	return m.etcd.Server
}

// hosts returns those at which members of the directory reach each other, this one's too.
func (m *Member) hosts() []string {
	server := m.server()
	if server == nil {
		return nil
	}
	var hosts []string
	for _, one := range server.Cluster().Members() {
		for _, at := range one.PeerURLs {
			if u, err := url.Parse(at); err == nil && u.Hostname() != "" {
				hosts = append(hosts, u.Hostname())
			}
		}
	}
	return hosts
}

// leaseOf returns the lease of a key as this member knows it; 0: none, or it is not known.
func (m *Member) leaseOf(ctx context.Context, key []byte) int64 {
	server := m.server()
	if server == nil {
		return -1
	}
	found, err := server.Range(ctx, &etcdserverpb.RangeRequest{Key: key, Serializable: true})
	if err != nil || len(found.Kvs) == 0 {
		return -1 // it is compared with that of the request
	}
	return found.Kvs[0].Lease
}

// authenticates reports whether etcd's own authentication is switched on.
func (m *Member) authenticates() bool {
	server := m.server()
	return server != nil && server.AuthStore().IsAuthEnabled()
}

// sayRefused says that requests are refused, and the newest one of them.
func (m *Member) sayRefused(why string) {
	m.say("a request was refused", strings.TrimPrefix(why, guard.Prefix))
}

// say says something that callers cause, at most once in a while.
func (m *Member) say(message, of string) {
	if omitted, now := m.core.shared.pass(message, time.Now()); now {
		m.config.Logger.Warn(message, "caller", of, "omitted", omitted)
	}
}
