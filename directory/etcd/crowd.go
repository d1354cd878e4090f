// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"tagbus/internal/sanitize"
)

// More entries than readers keep are a problem of those that look, and of those that are announced,
// who may not be found: also if nothing is watched here. Those have the servers count, now and then, what
// the index of one server says; how large entries are only a reader knows, and what it shares its
// Directory with is told that, too.
const (
	countEach    = time.Minute           // how often
	countEachOne = 30 * time.Millisecond // for each entry, if that is more: as many count, and that many are counted
	countSeldom  = 5 * time.Minute       // but so often
)

// crowding says that there are more entries than are kept.
func (d *Directory) crowding(what string) error {
	return fmt.Errorf("%w: %s with the prefix %s: remove entries that no program of yours announces, and use several names of buses (etcd://HOST/NAME)",
		ErrTooMany, what, sanitize.Text(d.config.Prefix))
}

// setCrowded sets or ends a problem of all that is announced here.
//
//   - which: the field of d that has it.
func (d *Directory) setCrowded(which *error, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil && *which == nil {
		return
	}
	*which = err
	for _, r := range d.registrations {
		d.tell(r)
	}
}

// countIfDue counts the entries if something is announced here and it is time to. It returns when to count next.
//
//   - due: as it was returned before; zero: now.
func (d *Directory) countIfDue(due time.Time) time.Time {
	now := time.Now()
	d.mu.Lock()
	idle := len(d.registrations) == 0
	d.mu.Unlock()
	if idle || now.Before(due) {
		return due
	}
	n, err := d.count()
	if err != nil {
		return due // it is tried again
	}
	switch limit := d.look.shelf.limit; {
	case n > limit:
		d.setCrowded(&d.many, d.crowding(fmt.Sprintf("%d, of which programs follow %d", n, limit)))
	case n <= limit*9/10: // as readers have room again
		d.setCrowded(&d.many, nil)
	}
	return now.Add(jittered(min(max(d.countEach, time.Duration(n)*countEachOne), countSeldom)))
}

// count returns how many entries one of the servers has.
func (d *Directory) count() (n int, err error) {
	err = d.servers.do(d.ctx, kindVerify, func(ctx context.Context) error {
		response, err := d.servers.client.Get(ctx, d.entriesPrefix(), clientv3.WithPrefix(), clientv3.WithCountOnly(), clientv3.WithSerializable())
		if err == nil {
			n = int(response.Count)
		}
		return err
	})
	return n, err
}
