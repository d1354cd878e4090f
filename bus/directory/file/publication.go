// SPDX-License-Identifier: Apache-2.0

//go:build linux

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
//	    any ─ Withdraw ─► withdrawn ─ file removed ─► removed
//
// Methods that say inside are called inside of Directory.writing.
type publication struct {
	directory.Reports
	directory *Directory
	instance  string

	mu        sync.Mutex // held for some steps only: writing may hang
	begun     bool       // Announce does not write it first any more
	withdrawn bool
	wanted    text // what the file ought to say
	shown     text // what it says; older than wanted while writing fails; changed inside

	// Inside only.
	removed bool // the file
	file    stamp
	beats   uint64
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

// state returns what the file ought to say, and what it says. Threads: any.
func (p *publication) state() (wanted, shown text, withdrawn bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wanted, p.shown, p.withdrawn
}

// isBegun reports whether p gets beats.
func (p *publication) isBegun() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begun
}

// begin makes p get beats, and reports whether it got none before.
func (p *publication) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := !p.begun
	p.begun = true
	return first
}

// show writes what is wanted. Inside.
//
//   - Errors: *PathError with ErrUnwritable; what was shown before stays.
func (p *publication) show(f *folder, wanted text) error {
	r := wanted.record
	p.beats++
	stamp, err := f.replace(p.instance, appendBeat(bytes.Clone(wanted.body), p.beats, r.revision, r.sum))
	if err != nil {
		return p.unwritable(err)
	}
	p.mu.Lock()
	p.shown = wanted
	p.mu.Unlock()
	p.file = stamp
	if err := f.sync(); err != nil {
		return p.unwritable(err)
	}
	return nil
}

// announce is the first renew, inside.
//
//   - Errors: as renew.
func (p *publication) announce() error {
	p.begin()
	return p.renew()
}

// renew shows that the publisher lives, and what is still to be shown. Inside.
//
//   - Errors: *PathError with ErrUnwritable or those of openFolder; directory.ErrAnnounced
//     before it is shown.
//   - Blocks: for the file system.
func (p *publication) renew() error {
	wanted, shown, withdrawn := p.state()
	if withdrawn {
		return nil
	}
	f, err := p.directory.writableFolder()
	if err != nil {
		return err
	}
	defer f.close()
	if shown.record == nil {
		if err := p.directory.free(f, p.instance); err != nil {
			return err
		}
		return p.show(f, wanted)
	}
	if shown.record != wanted.record {
		if err := p.show(f, wanted); err != nil {
			return errors.Join(err, p.beat(f)) // the old entry lives on
		}
		return nil
	}
	if err := p.beat(f); err != nil {
		return p.show(f, wanted)
	}
	return nil
}

// beat overwrites the beat line. Inside.
//
//   - Errors: what is wrong with the file; it has to be written again.
func (p *publication) beat(f *folder) error {
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
		if err = f.gate.step("writebeat"); err == nil {
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
//     stays, and every beat tries again to show the new one. So it is with ErrHangs.
//     directory.ErrWithdrawn, directory.ErrClosed.
func (p *publication) Update(e directory.Entry) error {
	if err := directory.ValidateUpdate(p.instance, e); err != nil {
		return err
	}
	if same, err := p.want(e); same || err != nil {
		return err
	}
	var failed error
	hangs := p.directory.writing.do(func() { failed = p.renew() }, func() { p.directory.reportWriting(p, failed) })
	if hangs != nil {
		return hangs // and it is reported
	}
	p.directory.reportWriting(p, failed)
	return failed
}

// want makes e what the file ought to say; same is true if it says so already.
//
//   - Errors: directory.ErrClosed, directory.ErrWithdrawn, those of encodeText.
func (p *publication) want(e directory.Entry) (same bool, err error) {
	closed := p.directory.isClosed()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case closed:
		return false, directory.ErrClosed
	case p.withdrawn:
		return false, directory.ErrWithdrawn
	case p.wanted.record.entry.Equal(e) && p.shown.record == p.wanted.record:
		return true, nil
	}
	wanted, err := p.directory.encodeText(e, p.wanted.record.revision+1)
	if err == nil {
		p.wanted = wanted
	}
	return false, err
}

// Withdraw removes the file, as directory.Registration says.
//
//   - Errors: *PathError with ErrUnwritable, ErrUnreadable for the folder, or ErrHangs. The
//     entry expires by itself; a second call tries again to remove the file, and so do the
//     beats of the directory.
func (p *publication) Withdraw() error {
	var failed error
	p.end()
	if hangs := p.directory.writing.do(func() { failed = p.remove() }, nil); hangs != nil {
		return hangs
	}
	return failed
}

// end ends the beats: only the file is to be removed now. Threads: any.
func (p *publication) end() {
	p.mu.Lock()
	p.withdrawn = true
	p.mu.Unlock()
	p.directory.forget(p)
}

// remove removes the file of what was withdrawn, if it was written. Inside.
//
//   - Errors: as Withdraw, without ErrHangs.
func (p *publication) remove() (err error) {
	if _, shown, _ := p.state(); shown.record == nil || p.removed {
		p.directory.removed(p)
		return nil
	}
	f, err := p.directory.openFolder(p.directory.writing)
	switch {
	case errors.Is(err, ErrVanished):
	case err != nil:
		return err
	default:
		defer f.close()
		if err := f.remove(p.instance + suffix); err != nil {
			return p.unwritable(err)
		}
	}
	p.removed = true
	p.directory.removed(p)
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
