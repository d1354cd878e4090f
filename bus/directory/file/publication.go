// SPDX-License-Identifier: Apache-2.0

package file

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"

	"tagbus/bus/directory"
)

// verifyBeats is how many beats a publisher leaves between two readings of its
// own file. A beat sees that the file was removed, replaced or truncated; only
// reading it sees that it was overwritten.
const verifyBeats = 16

// publication is one announced entry and its file.
//
//	announced ─ write ok ─► shown ◄─ write ok ─ pending ◄─ Update ─ shown
//	    any ─ Withdraw ─► withdrawn
type publication struct {
	directory.Reports
	directory *Directory
	instance  string

	mu        sync.Mutex
	withdrawn bool
	removed   bool // the file too
	wanted    text // what the file ought to say
	shown     text // what it says; older than wanted while writing fails
	file      stamp
	beats     uint64
}

// text is an encoded entry.
type text struct {
	record *record
	body   []byte // up to and with the end line
}

var _ directory.Registration = (*publication)(nil)

// encodeText encodes e within the limits of the configuration.
func (d *Directory) encodeText(e directory.Entry, revision uint32) (text, error) {
	path := filepath.Join(d.path, e.Instance+suffix)
	if parts := e.Tags.Parts(); parts > d.config.MaxTagParts {
		return text{}, tooMany(path, parts, d.config.MaxTagParts)
	}
	r := &record{entry: e.Clone(), revision: revision, beat: d.config.Beat, process: thisProcess()}
	body, err := r.encode()
	if err != nil {
		return text{}, err
	}
	if size := int64(len(body) + beatBytes); size > d.config.MaxFileBytes {
		return text{}, tooLarge(path, size, d.config.MaxFileBytes)
	}
	return text{r, body}, nil
}

// show writes what is wanted. The lock is held.
//
//   - Errors: *PathError with ErrUnwritable; what was shown before stays.
func (p *publication) show(f *folder) error {
	r := p.wanted.record
	p.beats++
	stamp, err := f.replace(p.instance, appendBeat(bytes.Clone(p.wanted.body), p.beats, r.revision, r.sum))
	if err != nil {
		return p.unwritable(err)
	}
	p.shown, p.file = p.wanted, stamp
	if err := f.sync(); err != nil {
		return p.unwritable(err)
	}
	return nil
}

// renew shows that the publisher lives, and what is still to be shown.
//
//   - Errors: *PathError with ErrUnwritable or those of openFolder.
//   - Blocks: for the file system.
func (p *publication) renew() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.withdrawn {
		return nil
	}
	f, err := p.directory.writableFolder()
	if err != nil {
		return err
	}
	defer f.close()
	if p.shown.record != p.wanted.record {
		if err := p.show(f); err != nil {
			return errors.Join(err, p.beat(f)) // the old entry lives on
		}
		return nil
	}
	if err := p.beat(f); err != nil {
		return p.show(f)
	}
	return nil
}

// beat overwrites the beat line. The lock is held.
//
//   - Errors: what is wrong with the file; it has to be written anew.
func (p *publication) beat(f *folder) error {
	if p.shown.record == nil {
		return os.ErrNotExist
	}
	p.beats++
	flags, verify := os.O_WRONLY, p.beats%verifyBeats == 0
	if verify {
		flags = os.O_RDWR
	}
	file, stamp, err := f.open("openbeat", p.instance+suffix, flags)
	if err != nil {
		return err
	}
	r := p.shown.record
	switch {
	case !stamp.sameFile(p.file):
		err = ErrDamaged
	case verify && !sameText(file, p.shown.body):
		err = ErrDamaged
	default:
		if err = f.fail("writebeat"); err == nil {
			_, err = file.WriteAt(appendBeat(make([]byte, 0, beatBytes), p.beats, r.revision, r.sum), int64(len(p.shown.body)))
		}
	}
	return errors.Join(err, file.Close())
}

// sameText reports whether file begins with body.
func sameText(file *os.File, body []byte) bool {
	content := make([]byte, len(body))
	_, err := io.ReadFull(file, content)
	return err == nil && bytes.Equal(content, body)
}

// Update replaces the entry, as directory.Registration says.
//
//   - Errors: *directory.FieldError joined, *PathError with ErrTooLarge or
//     ErrTooManyTags: nothing changes. *PathError with ErrUnwritable: the old entry
//     stays, and every beat tries again to show the new one.
//     directory.ErrWithdrawn, directory.ErrClosed.
func (p *publication) Update(e directory.Entry) error {
	if err := directory.ValidateUpdate(p.instance, e); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.directory.isClosed():
		return directory.ErrClosed
	case p.withdrawn:
		return directory.ErrWithdrawn
	}
	if p.wanted.record.entry.Equal(e) && p.shown.record == p.wanted.record {
		return nil
	}
	wanted, err := p.directory.encodeText(e, p.wanted.record.revision+1)
	if err != nil {
		return err
	}
	p.wanted = wanted
	f, err := p.directory.writableFolder()
	if err == nil {
		defer f.close()
		err = p.show(f)
	}
	p.directory.reportWriting(p, err)
	return err
}

// Withdraw removes the file, as directory.Registration says.
//
//   - Errors: *PathError with ErrUnwritable, or ErrUnreadable for the folder. The
//     entry expires by itself; a second call tries again to remove the file.
func (p *publication) Withdraw() error {
	p.directory.forget(p)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.withdrawn = true
	if p.removed {
		return nil
	}
	f, err := openFolder(p.directory.path, p.directory.config.inject)
	if errors.Is(err, ErrVanished) {
		p.removed = true
		return nil
	}
	if err != nil {
		return err
	}
	defer f.close()
	if err := f.remove(p.instance + suffix); err != nil {
		return p.unwritable(err)
	}
	p.removed = true
	return nil
}

// unwritable explains why the file could not be written.
func (p *publication) unwritable(err error) error {
	return &PathError{
		Path: filepath.Join(p.directory.path, p.instance+suffix),
		Err:  wrap(ErrUnwritable, err),
		Hint: hintFor(err) + "; an announced entry is tried again with each beat",
	}
}
