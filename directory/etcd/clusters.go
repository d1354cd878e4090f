// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"tagbus/internal/sanitize"
)

// severalSource is the source of the problem that the servers are of several clusters.
const severalSource = "clusters:"

// When it is looked whether all servers are of one cluster.
const (
	comparePatience = 300 * time.Millisecond // until each of them has answered, which some never do
	comparePause    = 5 * time.Millisecond   // between requests: connections are being made
	compareSoon     = 10 * time.Second       // after the first time: all have a connection by then that can
	compareAgain    = time.Hour
	compareMended   = 30 * time.Second // while they are not
)

// compareServers looks whether all servers are of one cluster. Requests go to each server in turn, so
// that programs of several would find each other now and then. It reports whether they are.
func (d *Directory) compareServers(ctx context.Context) (one bool) {
	endpoints := d.config.Endpoints
	if len(endpoints) < 2 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, comparePatience)
	defer cancel()
	timer := time.NewTimer(0)
	defer timer.Stop()
	clusters, members := make(map[uint64]bool), make(map[uint64]bool)
	for len(clusters) < 2 && len(members) < len(endpoints) {
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		timer.Reset(comparePause)
		_ = d.servers.do(ctx, kindVerify, func(ctx context.Context) error {
			response, err := d.servers.client.Get(ctx, d.epochKey(), clientv3.WithCountOnly(), clientv3.WithSerializable())
			if err == nil {
				clusters[response.Header.ClusterId], members[response.Header.MemberId] = true, true
			}
			return err
		}) // that they do not answer, or refuse, others say
	}
	d.several.Store(len(clusters) > 1)
	switch {
	case len(clusters) > 1:
		d.feed.Report(severalSource, fmt.Errorf("%w: %s: programs of one do not find those of another: name the servers of one alone, or have the others join it (tagbus-directory --join)",
			ErrSeveral, sanitize.Text(strings.Join(endpoints, ","))))
	case len(clusters) == 1:
		d.feed.Report(severalSource, nil)
	}
	return len(clusters) <= 1
}

// compareAll looks again and again until the Directory is closed.
func (d *Directory) compareAll() {
	timer := time.NewTimer(compareSoon)
	defer timer.Stop()
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-timer.C:
		}
		pause := compareAgain
		if !d.compareServers(d.ctx) {
			pause = compareMended
		}
		timer.Reset(jittered(pause))
	}
}
