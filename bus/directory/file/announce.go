// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"tagbus/bus/directory"
	"tagbus/internal/sanitize"
)

// Announce writes the entry's file and keeps it alive.
//
//   - Result: nil error means that the file is on the disk, synced; or that the file system
//     does not answer. The Registration, a directory.Reporter, then has a problem with
//     ErrHangs until the file is there.
//   - Errors: *directory.FieldError joined, directory.ErrClosed; *PathError with
//     ErrUnwritable, which also means that the folder cannot be created, ErrUnreadable
//     (the folder), ErrTooLarge, ErrTooManyTags; directory.ErrAnnounced also if another process lives, or may live, that
//     announced this instance.
//   - Blocks: for the file system, Patience at most if it does not answer.
func (d *Directory) Announce(e directory.Entry) (directory.Registration, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	wanted, err := d.encodeText(e, 1)
	if err != nil {
		return nil, err
	}
	p := &publication{directory: d, instance: e.Instance, wanted: wanted}
	if err := d.remember(p); err != nil {
		return nil, err
	}
	hangs := d.writing.do(func() { err = p.announce() }, func() { d.reportWriting(p, err) })
	switch {
	case hangs != nil:
		if p.begin() { // an operation before it is stuck: the beats announce it
			d.reportWriting(p, hangs)
		}
	case err != nil:
		return nil, errors.Join(err, p.Withdraw())
	}
	if d.clientsOnly {
		_ = d.writing.do(func() { // else the next client does it
			d.collectSome(e.Instance)
			if crowded := d.crowded.Load(); crowded != nil && *crowded != nil {
				p.Tell(*crowded)
			}
		}, nil)
	} else {
		d.scan.start(false)
	}
	return p, nil
}

// free returns nil if instance may be announced: nothing has its name, or only
// what a dead publisher or a stranger left.
func (d *Directory) free(f *folder, instance string) error {
	var s source
	found, err := s.look(f, instance, d.config)
	if err == nil && found != absent && !s.record.process.ended() {
		return fmt.Errorf("%w: %s is alive", directory.ErrAnnounced, sanitize.Text(filepath.Join(d.path, instance+suffix)))
	}
	return nil
}

// remember enters p, so that it gets beats. Whatever writes it first announces it.
func (d *Directory) remember(p *publication) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return directory.ErrClosed
	case d.publications[p.instance] != nil:
		return directory.ErrAnnounced
	}
	d.publications[p.instance] = p
	if !d.beating {
		d.beating = true
		d.running.Go(d.beat)
	}
	return nil
}

// forget ends the beats of p, and remembers it until its file is removed.
func (d *Directory) forget(p *publication) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.publications[p.instance] == p {
		delete(d.publications, p.instance)
		d.leaving[p] = struct{}{}
		d.feed.Report(writingOf(p.instance), nil)
	}
	p.End()
}

// announces reports whether an instance gets beats from here.
func (d *Directory) announces(instance string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.publications[instance] != nil
}

// removed forgets p, which has no file any more.
func (d *Directory) removed(p *publication) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.leaving, p)
}

// announced returns what gets beats.
func (d *Directory) announced() []*publication {
	d.mu.Lock()
	defer d.mu.Unlock()
	result := make([]*publication, 0, len(d.publications))
	for _, p := range d.publications {
		result = append(result, p)
	}
	slices.SortFunc(result, func(a, b *publication) int { return cmp.Compare(a.instance, b.instance) })
	return result
}

// beat renews what is announced until the directory is closed.
func (d *Directory) beat() {
	ticker := time.NewTicker(d.firstBeat())
	defer ticker.Stop()
	for {
		select {
		case <-d.quit:
			return
		case <-ticker.C:
		}
		ticker.Reset(d.config.Beat)
		d.renewAll()
	}
}

// renewAll renews what is announced, and removes what could not be removed before.
func (d *Directory) renewAll() {
	if d.clientsOnly {
		d.writing.enter()
		d.countClients()
		d.writing.leave()
	}
	for _, p := range d.announced() {
		d.writing.enter()
		if p.isBegun() {
			d.reportWriting(p, p.renew())
		}
		d.writing.leave()
	}
	for _, p := range d.left() {
		d.writing.enter()
		_ = p.remove() // it is tried again
		d.writing.leave()
	}
}

// left returns what is withdrawn and not removed.
func (d *Directory) left() []*publication {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.leaving))
}

// tellWriting tells all that is announced that writing hangs. That it goes on is told by the
// next beats.
func (d *Directory) tellWriting(err error) {
	if err == nil {
		return
	}
	for _, p := range d.announced() {
		d.reportWriting(p, err)
	}
}

// reportWriting sets or ends the problem of writing an entry.
func (d *Directory) reportWriting(p *publication, err error) {
	d.mu.Lock()
	if d.publications[p.instance] == p { // else Withdraw came meanwhile and ended it
		d.feed.Report(writingOf(p.instance), err)
	}
	d.mu.Unlock()
	if crowded := d.crowded.Load(); err == nil && crowded != nil {
		err = *crowded
	}
	p.Tell(err)
}

// writingOf is the source of the problem of writing an entry: no instance
// has a colon.
func writingOf(instance string) string { return "write:" + instance }
