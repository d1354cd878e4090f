// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"tagbus/bus/directory"
)

// Clients are kept in a folder of their own within the folder, so that no reader of the
// publishers reads them or is woken by them. They are more, and less is lost without one:
// their files are not synced, beat a 60th as often, and are no reason to look at the folder
// for those that announce them.
const (
	clientsName   = "clients"
	clientBeats   = 60  // beats of a publisher to one of a client
	clientPolls   = 4   // looks at the folder to one at that of the clients
	silentBeats   = 60  // after which a client has ended, whatever is known of its process
	collectAtOnce = 128 // files that a client which starts looks through for what the dead have left
)

// maxClients is how many clients are followed, if Config.MaxFiles is not more. Tests set it.
var maxClients = 1 << 16

// Clients returns the directory of the clients: the folder "clients" within this one. The
// first client makes it, with the permissions of this one, unless this one is missing.
func (d *Directory) Clients() directory.Directory {
	if d.clientsOnly {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.clients == nil {
		d.clients = newDirectory(filepath.Join(d.path, clientsName), d.config.forClients())
		d.clients.clientsOnly, d.clients.scan.missing.quiet = true, true
		if d.closed {
			_ = d.clients.Close() // it has announced nothing
		}
	}
	return d.clients
}

// closeClients closes the directory of the clients, if there is one. An entry that stays is no
// error, since nothing fails without it: it is silent, and goes.
func (d *Directory) closeClients() {
	d.mu.Lock()
	clients := d.clients
	d.mu.Unlock()
	if clients != nil {
		_ = clients.Close()
	}
}

// forClients returns the configuration of the directory of the clients.
func (c Config) forClients() Config {
	c.Beat = min(clientBeats*c.Beat, maxBeat)
	c.Expiry = max(c.Expiry, 3*c.Beat)
	c.Poll *= clientPolls
	c.MaxFiles = max(c.MaxFiles, maxClients)
	c.OnProblem = nil
	return c
}

// firstBeat returns when the first beat follows an announcement: clients that start together
// do not beat together.
func (d *Directory) firstBeat() time.Duration {
	if !d.clientsOnly {
		return d.config.Beat
	}
	return rand.N(d.config.Beat) + 1 // no secret
}

// makeClients makes the folder of the clients. What may be done in the folder around it may
// be done in it.
func (d *Directory) makeClients() error {
	around, err := os.Stat(filepath.Dir(d.path))
	if err != nil {
		return err
	}
	if err := os.Mkdir(d.path, dirPerm); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	} else if err != nil {
		return nil // another client was faster
	}
	if f, err := d.openFolder(d.writing); err == nil { // no link that has taken its place
		_ = f.dir.Chmod(around.Mode()) // else the clients of other users are not listed
		f.close()
	}
	return nil
}

// openFolder opens the folder. That of the clients is not opened through a link: a user that
// may write the folder around it would lead programs of others elsewhere.
//
//   - g: what the caller is inside of.
//   - Errors: as the function.
func (d *Directory) openFolder(g *gate) (*folder, error) {
	if !d.clientsOnly {
		return openFolder(d.path, g, 0)
	}
	f, err := openFolder(d.path, g, syscall.O_NOFOLLOW)
	if errors.Is(err, ErrNotDirectory) {
		err = &PathError{d.path, ErrNotDirectory, "remove it, a link or a file: the next subscriber or sender makes the folder"}
	}
	return f, err
}

// collectSome removes what dead clients have left, of some files that chance chooses. All
// clients that start do so, and together keep the folder small: nothing watches it all the
// time. Nothing is remembered: of 10,000 clients each would know all. Inside.
//
//   - instance: that was announced just now. Its file says what time it is by the clock of the
//     file system.
//
// It also sets whether there are too many.
func (d *Directory) collectSome(instance string) {
	f, err := d.openFolder(d.writing)
	if err != nil {
		return
	}
	defer f.close()
	own, err := f.stamped(instance + suffix)
	if err != nil {
		return
	}
	names := d.countLive(f, own)
	if len(names) == 0 {
		return
	}
	first := rand.N(len(names)) // no secret
	for i := range min(len(names), collectAtOnce) {
		d.collectOne(f, names[(first+i)%len(names)], own)
	}
}

// collectOne removes the file of a client that has ended, or has been silent for so long that
// it has: one that lives writes it again. A file that is about no client is not the bus's to
// remove.
func (d *Directory) collectOne(f *folder, name string, own stamp) {
	instance, err := instanceOf(name)
	if err != nil {
		return
	}
	seen, err := f.stamped(name)
	if err != nil || own.written().Sub(seen.written()) < d.config.CollectAfter {
		return
	}
	var s source
	if _, err := s.look(f, instance, d.config); err != nil || s.record == nil {
		return
	}
	silent := own.written().Sub(s.stamp.written())
	if silent >= silentBeats*max(d.config.Beat, s.record.beat) || s.record.process.ended() {
		_ = f.remove(name) // if it cannot be, a client that can does it
	}
}
