// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"

	"tagbus/bus/directory"
	"tagbus/bus/directory/codec"
	"tagbus/internal/sanitize"
)

const (
	// grace is how long an entry whose lease has ended may take to appear again before it
	// is Gone: a process that was stopped for a while announces itself again. With an
	// election just before, which gives all leases up to 3 s more, it is less than 5 s.
	grace = time.Second

	// What is kept: so many entries, and so many bytes of them, about. Strangers may have
	// written them, and a kilobyte can say 4 MB of tags.
	maxEntries = 1 << 16
	maxWeight  = 256 << 20

	firstKeys = 32      // of the first page of a list: how large entries are is not known yet
	pageKeys  = 256     // of one page of a list, at most
	pageBytes = 4 << 20 // of one page of a list, about
)

const tooManySource = "many:"

// shelf is what is known of the servers' data. Threads: one, that of the looker.
type shelf struct {
	d        *Directory
	revision int64  // of the servers, up to which all is known
	epoch    string // mark of the data
	items    map[string]*item
	bad      map[string]bool // keys with a problem
	waiting  int             // items that are missing
	limit    int             // of items
	weight   int             // of all items
	heaviest int             // limit of weight
	full     bool            // there are entries that have no room
}

// item is what is known of one entry.
type item struct {
	revision int64         // of its key
	weight   int           // bytes that it takes, about
	patience time.Duration // how long it may be missing; 0: it is there
	deadline time.Time     // when it is Gone
	seen     bool          // in the list that is under way
}

func (s *shelf) init(d *Directory) {
	s.d, s.limit, s.heaviest = d, maxEntries, maxWeight
	s.items, s.bad = make(map[string]*item), make(map[string]bool)
}

// list looks at all entries, in pages of one revision, and compares them with what is known.
//
//   - whole: all of it is there and certain. Otherwise it is what one server knows, which
//     may be old, and only adds to what is known.
func (s *shelf) list(whole bool) error {
	d := s.d
	d.servers.counts.add(&d.servers.counts.looks)
	for _, i := range s.items {
		i.seen = false
	}
	epoch, badSeen := "", make(map[string]bool)
	key, revision, limit, newest := d.config.Prefix, int64(0), int64(firstKeys), d.newest()
	for key != "" {
		var page *clientv3.GetResponse
		options := []clientv3.OpOption{
			clientv3.WithRange(d.end()), clientv3.WithLimit(limit), clientv3.WithRev(revision),
		}
		if !whole {
			options = append(options, clientv3.WithSerializable())
		}
		err := d.servers.do(d.ctx, kindList, func(ctx context.Context) (err error) {
			page, err = d.servers.client.Get(ctx, key, options...)
			return err
		})
		if code(err) == codes.ResourceExhausted && limit > 1 {
			limit = max(1, limit/4) // it was more than maxAnswerBytes
			continue
		}
		if err != nil {
			return err
		}
		if revision == 0 {
			revision = page.Header.Revision
		}
		size := 1
		for _, kv := range page.Kvs {
			size += len(kv.Value)
			if string(kv.Key) == d.epochKey() {
				epoch = string(kv.Value)
			}
		}
		s.putPage(page.Kvs, epoch, badSeen)
		key = ""
		if page.More && len(page.Kvs) > 0 {
			key = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
			limit = min(pageKeys, max(1, int64(pageBytes*len(page.Kvs)/size)))
		}
	}
	if whole {
		d.sawRevision(newest, revision)
		s.finish(revision, epoch, badSeen)
	}
	return nil
}

// putPage takes the entries of one page.
func (s *shelf) putPage(kvs []*mvccpb.KeyValue, epoch string, badSeen map[string]bool) {
	for _, kv := range kvs {
		instance, ok := s.instanceOf(kv)
		if !ok {
			s.seeBad(kv.Key, badSeen)
			continue
		}
		if i := s.items[instance]; i != nil {
			if i.seen = true; i.patience == 0 && i.revision == kv.ModRevision && epoch == s.epoch && !s.bad[nameOf(kv.Key)] {
				continue
			}
		}
		s.put(instance, kv)
		s.seeBad(kv.Key, badSeen)
	}
}

// seeBad notes that a key which has a problem is there, as a list finds it. Only as many are
// noted as have one.
func (s *shelf) seeBad(key []byte, seen map[string]bool) {
	if name := nameOf(key); s.bad[name] {
		seen[name] = true
	}
}

// finish ends a list: what was known and is not there any more has Config.Expiry to come
// back. Servers that lost their data get it again from those that announced it.
func (s *shelf) finish(revision int64, epoch string, badSeen map[string]bool) {
	for instance, i := range s.items {
		if !i.seen && i.patience == 0 {
			s.miss(instance, s.d.config.Expiry)
		}
		if !i.seen {
			s.d.sawOwn(instance, 0, revision)
		}
	}
	for key := range s.bad {
		if !badSeen[key] {
			s.mend(key)
		}
	}
	s.revision, s.epoch = revision, epoch
}

// apply takes the changes that a watch tells of.
func (s *shelf) apply(events []*mvccpb.Event) {
	withdrawn := make(map[int64]bool) // revisions in which entries were withdrawn
	for _, e := range events {
		if string(e.Kv.Key) == s.d.noteKey() {
			withdrawn[e.Kv.ModRevision] = true
		}
	}
	for _, e := range events {
		if string(e.Kv.Key) == s.d.epochKey() && e.Type == mvccpb.Event_PUT {
			s.epoch = string(e.Kv.Value)
		}
		instance, ok := s.instanceOf(e.Kv)
		switch {
		case e.Type == mvccpb.Event_PUT && ok:
			s.put(instance, e.Kv)
			s.d.sawOwn(instance, e.Kv.ModRevision, e.Kv.ModRevision)
		case e.Type == mvccpb.Event_PUT:
		case withdrawn[e.Kv.ModRevision] && ok:
			s.drop(instance, nil)
			s.d.sawOwn(instance, 0, e.Kv.ModRevision)
		case ok:
			s.miss(instance, min(grace, s.d.config.Expiry))
			s.d.sawOwn(instance, 0, e.Kv.ModRevision)
		}
		if e.Type == mvccpb.Event_DELETE {
			s.mend(nameOf(e.Kv.Key))
		}
	}
}

// instanceOf returns the instance that a key is about, and whether it is about one. One
// that should be and is not has a problem.
func (s *shelf) instanceOf(kv *mvccpb.KeyValue) (string, bool) {
	instance, ok := strings.CutPrefix(string(kv.Key), s.d.entriesPrefix())
	if !ok {
		return "", false
	}
	if !directory.ValidInstance(instance) {
		if kv.Version > 0 { // not deleted
			s.blame(nameOf(kv.Key), errors.New("its name is no instance"))
		}
		return "", false
	}
	return instance, true
}

// put takes the value of a key. One that is no entry is a problem, and what was known
// stays.
func (s *shelf) put(instance string, kv *mvccpb.KeyValue) {
	key := nameOf(kv.Key)
	e, err := codec.Decode(kv.Value)
	if err == nil && e.Instance != instance {
		err = fmt.Errorf("it is an entry of %s", sanitize.Text(e.Instance))
	}
	if err != nil {
		s.blame(key, err)
		return
	}
	s.mend(key)
	old := s.items[instance]
	weight := weightOf(e, kv.Value)
	if !s.hasRoom(old, weight) {
		s.fill(instance)
		return
	}
	i := old
	if i == nil {
		i = &item{}
		s.items[instance] = i
	}
	if i.patience != 0 {
		s.waiting--
	}
	s.weight += weight - i.weight
	*i = item{revision: kv.ModRevision, weight: weight, seen: true}
	s.d.feed.Put(e)
}

// miss gives an entry that is no longer there time to come back.
func (s *shelf) miss(instance string, patience time.Duration) {
	i := s.items[instance]
	if i == nil || i.patience != 0 {
		return
	}
	i.patience, i.deadline = patience, time.Now().Add(patience)
	s.waiting++
}

// drop forgets an entry.
func (s *shelf) drop(instance string, why error) {
	i := s.items[instance]
	if i == nil {
		return
	}
	if i.patience != 0 {
		s.waiting--
	}
	s.weight -= i.weight
	delete(s.items, instance)
	s.d.feed.Remove(instance, why)
}

// expire forgets what has not come back in time, and returns when to look next; zero: at
// no time.
func (s *shelf) expire(now time.Time) (next time.Time) {
	if s.waiting == 0 {
		return next
	}
	for instance, i := range s.items {
		switch {
		case i.patience == 0:
		case !i.deadline.After(now):
			s.drop(instance, directory.ErrExpired)
		case next.IsZero() || i.deadline.Before(next):
			next = i.deadline
		}
	}
	return next
}

// forgive gives all that is missing its whole time again: nothing could come back while
// the servers were away.
func (s *shelf) forgive(now time.Time) {
	for _, i := range s.items {
		if i.patience != 0 {
			i.deadline = now.Add(i.patience)
		}
	}
}
