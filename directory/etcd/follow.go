// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// errStale says that what is known does not lead to what the servers have: changes were
// compacted away, or the data is another one. Everything must be looked at again.
var errStale = errors.New("directory/etcd: what is known is no longer what the servers had")

// errEnded says that a server ended a watch, for a reason that a look at everything says
// better, as its requests can get a new token.
var errEnded = errors.New("the watch has ended")

// minProbe is how often a watch that tells nothing is asked whether it is still there, at
// most: a third of Expiry, as leases are renewed, unless that is shorter. A thousand idle
// watchers that each ask every 5 s are a load of a member.
const minProbe = 5 * time.Second

// watch is a stream of changes, from one server.
type watch struct {
	stream    etcdserverpb.Watch_WatchClient
	responses chan *etcdserverpb.WatchResponse
	err       error // why it ended, after responses was closed
}

// open asks one of the servers for all changes of the keys from prefix up to end, after a
// revision. It must be ended by
// cancelling ctx.
func (s *servers) open(ctx context.Context, prefix, end string, after int64) (*watch, error) {
	ctx = clientv3.WithRequireLeader(ctx)
	stream, err := s.watch.Watch(ctx)
	if err != nil {
		return nil, err
	}
	create := &etcdserverpb.WatchCreateRequest{
		Key: []byte(prefix), RangeEnd: []byte(end), StartRevision: after + 1, Fragment: true,
	}
	err = stream.Send(&etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_CreateRequest{CreateRequest: create}})
	if err != nil {
		if _, cause := stream.Recv(); cause != nil { // the cause comes with the next Recv
			err = cause
		}
		return nil, err
	}
	w := &watch{stream: stream, responses: make(chan *etcdserverpb.WatchResponse)}
	go w.receive(ctx)
	return w, nil
}

// receive passes responses on until the stream ends. Of a fragment it passes on whole revisions
// alone, since what was withdrawn is told by two changes of one revision; a response as a whole may
// have a thousand revisions of a megabyte each.
func (w *watch) receive(ctx context.Context) {
	defer close(w.responses)
	var rest []*mvccpb.Event // of a revision that may not be whole
	for {
		r, err := w.stream.Recv()
		if err != nil {
			w.err = err
			return
		}
		r.Events = append(rest, r.Events...)
		if rest = nil; r.Fragment {
			if r.Events, rest = wholeRevisions(r.Events); len(r.Events) == 0 {
				continue
			}
		}
		select {
		case w.responses <- r:
		case <-ctx.Done():
			w.err = ctx.Err()
			return
		}
	}
}

// wholeRevisions cuts changes in front of those of the last revision.
func wholeRevisions(events []*mvccpb.Event) (whole, rest []*mvccpb.Event) {
	at := len(events)
	for at > 0 && events[at-1].Kv.ModRevision == events[len(events)-1].Kv.ModRevision {
		at--
	}
	return events[:at:at], slices.Clone(events[at:])
}

// progress asks the server how far the watch is.
func (w *watch) progress() error {
	request := &etcdserverpb.WatchRequest_ProgressRequest{ProgressRequest: &etcdserverpb.WatchProgressRequest{}}
	return w.stream.Send(&etcdserverpb.WatchRequest{RequestUnion: request})
}

// follow takes changes as they come, until that fails.
//
//   - Errors: errStale, *ServerError, those of the Directory's context.
func (l *looker) follow() error {
	d := l.d
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	slow := time.AfterFunc(d.config.RequestTimeout, cancel)
	defer slow.Stop()
	w, err := d.servers.open(ctx, d.config.Prefix, d.end(), l.shelf.revision)
	if err == nil {
		defer func() { // its goroutine ends before the Directory
			cancel()
			for range w.responses {
			}
		}()
		err = created(w)
	}
	if !slow.Stop() && d.ctx.Err() == nil {
		err = context.DeadlineExceeded
	}
	if d.ctx.Err() == nil {
		answered := err == nil || errors.Is(err, errStale) || errors.Is(err, errEnded) || !isAway(err)
		d.servers.counts.asked(kindWatch, time.Now(), err, answered)
	}
	if err == nil {
		err = l.sameData()
	}
	if err != nil {
		if errors.Is(err, errStale) {
			return err
		}
		return d.servers.explain(d.ctx, err)
	}
	l.healthy()
	l.shelf.forgive(time.Now())
	return l.serve(w)
}

// created waits until a watch is.
func created(w *watch) error {
	r, ok := <-w.responses
	switch {
	case !ok:
		return w.err
	case r.Canceled:
		return cancelled(r)
	}
	return nil
}

// cancelled returns why the server ended a watch.
func cancelled(r *etcdserverpb.WatchResponse) error {
	if r.CompactRevision != 0 {
		return errStale
	}
	return fmt.Errorf("%w: %s", errEnded, r.CancelReason)
}

// sameData returns nil if the servers' data is what it was when it was last looked at,
// only with changes: with the same mark, and not before.
//
//   - Errors: errStale, *ServerError.
func (l *looker) sameData() error {
	d := l.d
	var response *clientv3.GetResponse
	err := d.servers.do(d.ctx, kindVerify, func(ctx context.Context) (err error) {
		response, err = d.servers.client.Get(ctx, d.epochKey())
		return err
	})
	if err != nil {
		return err
	}
	epoch := ""
	if len(response.Kvs) > 0 {
		epoch = string(response.Kvs[0].Value)
	}
	if response.Header.Revision < l.shelf.revision || l.shelf.epoch != "" && epoch != l.shelf.epoch {
		return errStale
	}
	return nil
}

// serve takes the changes of a watch that was created.
func (l *looker) serve(w *watch) error {
	d := l.d
	expiry := time.NewTimer(0)
	defer expiry.Stop()
	prober := time.NewTicker(max(minProbe, d.config.Expiry/3))
	defer prober.Stop()
	silent := 0 // probes since the last answer
	for {
		if next := l.shelf.expire(time.Now()); next.IsZero() {
			expiry.Stop()
		} else {
			expiry.Reset(time.Until(next))
		}
		if l.shelf.roomAgain() {
			return errStale
		}
		var err error
		select {
		case <-d.ctx.Done():
			return d.ctx.Err()
		case r, ok := <-w.responses:
			if !ok {
				return d.servers.explain(d.ctx, w.err)
			}
			silent = 0
			d.servers.counts.answered(time.Now())
			err = l.take(r)
		case <-expiry.C:
		case <-l.ask:
			err = w.progress()
		case <-prober.C:
			if silent++; silent > 2 {
				return d.servers.explain(d.ctx, context.DeadlineExceeded)
			}
			err = w.progress()
		}
		if errors.Is(err, errStale) {
			return err
		}
		if err != nil {
			return d.servers.explain(d.ctx, err)
		}
	}
}

// take takes one response of a watch.
func (l *looker) take(r *etcdserverpb.WatchResponse) error {
	switch {
	case r.Canceled:
		return cancelled(r)
	case r.CompactRevision != 0:
		return errStale
	case len(r.Events) > 0:
		l.shelf.apply(r.Events)
		l.shelf.revision = max(l.shelf.revision, r.Events[len(r.Events)-1].Kv.ModRevision)
	case r.WatchId == clientv3.InvalidWatchID: // an answer to progress: all changes up to its revision have come
		l.shelf.revision = max(l.shelf.revision, r.Header.GetRevision())
	}
	l.reached(l.shelf.revision, false)
	return nil
}
