// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"sync"
	"time"

	"tagbus/bus/directory"
)

// kind is one of requests.
type kind int

// The kinds of requests, in the order of their names.
const (
	kindAuthenticate kind = iota
	kindGrant
	kindKeepalive
	kindList
	kindPut
	kindRevoke
	kindVerify
	kindWatch
	kindWithdraw
	kinds
)

var kindNames = [kinds]string{"authenticate", "grant", "keepalive", "list", "put", "revoke", "verify", "watch", "withdraw"}

// counts are what Stats shows of the servers. Threads: any.
type counts struct {
	mu       sync.Mutex
	requests [kinds]directory.RequestStats
	contact  time.Time // last answer
	up       bool
	looks    uint64
	restarts uint64
	leases   uint64
}

// asked counts a request that was answered, or not.
//
//   - up: the servers do their work, whether they refused this request or not.
func (c *counts) asked(k kind, now time.Time, err error, up bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.requests[k].Done++
	} else {
		c.requests[k].Failures++
	}
	if c.up = up; up {
		c.contact = now
	}
}

// answered notes a sign of life of the servers that no request asked for.
func (c *counts) answered(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.up, c.contact = true, now
}

func (c *counts) add(counter *uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*counter++
}

// stats returns what is known of the servers.
func (c *counts) stats() directory.Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := directory.Stats{
		Up: c.up, LastContact: c.contact, Looks: c.looks, WatchRestarts: c.restarts, Leases: c.leases,
		Requests: make([]directory.RequestStats, kinds),
	}
	for k, name := range kindNames {
		s.Requests[k] = c.requests[k]
		s.Requests[k].Kind = name
	}
	return s
}
