// SPDX-License-Identifier: Apache-2.0

package signed

import (
	"errors"
	"time"

	"tagbus/bus/directory"
	"tagbus/identity"
	"tagbus/internal/backoff"
)

// take takes an event of the directory that was wrapped.
func (d *Directory) take(e directory.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	instance := e.Entry.Instance
	switch e.Kind {
	case directory.Appeared, directory.Changed:
		if old := d.known[instance]; old == nil || !old.entry.Equal(e.Entry) {
			d.known[instance] = d.verify(e.Entry)
		}
		d.show(d.known[instance])
	case directory.Gone:
		delete(d.known, instance)
		d.feed.Remove(instance, e.Err)
		d.report(instance, nil)
	default:
		d.reportStorage(e.Err)
		return
	}
	d.came(instance)
}

// came notes that an instance is no longer waited for. The lock is held.
func (d *Directory) came(instance string) {
	if d.heard != nil {
		d.heard[instance] = struct{}{}
	}
	if _, awaited := d.awaited[instance]; awaited {
		if delete(d.awaited, instance); len(d.awaited) == 0 {
			close(d.arrived)
		}
	}
}

// show shows an entry, or takes it away and says why. The lock is held.
func (d *Directory) show(k *known) {
	entry, ok, why := d.judge(k)
	d.report(k.entry.Instance, asError(why))
	if ok || errors.Is(why, ErrNotCovered) {
		d.remember(k)
	}
	if !ok {
		d.feed.Remove(k.entry.Instance, why)
		return
	}
	d.feed.Put(entry)
}

// lookAgain looks at all entries: certificates, the policy, or the time have changed.
func (d *Directory) lookAgain(changed bool) {
	d.mu.Lock()
	instances := make([]string, 0, len(d.known))
	for instance := range d.known {
		instances = append(instances, instance)
	}
	problems := len(d.storage) > 0
	d.pruneSeen()
	d.mu.Unlock()
	for _, instance := range instances {
		d.lookAt(instance, changed)
	}
	if problems {
		d.endStorage()
	}
}

// lookAt looks at an entry again. It holds the lock for one only, since a signature may be
// computed.
func (d *Directory) lookAt(instance string, changed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.known[instance]
	if k == nil || d.closed {
		return
	}
	if k.peer == nil && (changed || errors.Is(k.err, identity.ErrNotYetValid)) {
		k = d.verify(k.entry)
		d.known[instance] = k
	}
	d.show(k)
}

// report sets what is wrong with an entry, or nil. The same text is told now and then only,
// however often the entry comes and goes. The lock is held.
func (d *Directory) report(instance string, err error) {
	if err == nil {
		if _, told := d.reported[instance]; told {
			delete(d.reported, instance)
			d.feed.Report(instance, nil)
		}
		return
	}
	text := err.Error()
	if d.reported[instance] == text {
		return
	}
	if d.told[text] == nil {
		if len(d.told) >= maxTold {
			clear(d.told)
		}
		d.told[text] = &backoff.Reminder{}
	}
	if d.told[text].Due(time.Now()) {
		d.reported[instance] = text
		d.feed.Report(instance, err)
	}
}

// storageSource is in front of the texts of problems of the storage. No instance has a colon.
const storageSource = "storage:"

// reportStorage tells what is wrong with the directory that was wrapped. The lock is held.
func (d *Directory) reportStorage(err error) {
	text := err.Error()
	if len(d.storage) >= maxTold {
		d.forgetStorage(nil)
	}
	d.storage[text] = struct{}{}
	d.feed.Report(storageSource+text, nil) // it has begun again
	d.feed.Report(storageSource+text, err)
}

// endStorage forgets the problems of the storage that are over, of which none is told.
func (d *Directory) endStorage() {
	_, err := d.inner.List()
	lasts := make(map[string]bool)
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			lasts[one.Error()] = true
		}
	} else if err != nil {
		lasts[err.Error()] = true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgetStorage(lasts)
}

// forgetStorage forgets the problems of the storage that do not last. The lock is held.
func (d *Directory) forgetStorage(lasts map[string]bool) {
	for text := range d.storage {
		if !lasts[text] {
			delete(d.storage, text)
			d.feed.Report(storageSource+text, nil)
		}
	}
}
