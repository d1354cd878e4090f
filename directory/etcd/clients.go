// SPDX-License-Identifier: Apache-2.0

package etcd

import "tagbus/bus/directory"

// clientsKey is what follows Config.Prefix in the keys of clients. It is behind e/, begun and
// withdrawn in the order of keys, so that a range in front of it has all of those.
const clientsKey = "x/"

// clientExpiries is how many times as long a client may give no sign of life: there may be
// ten times as many as publishers, and nothing waits for them.
const clientExpiries = 10

// Clients returns the directory of the clients: on the same servers, over the same
// connections, with keys that watchers of this one do not read. It has a lease of its own,
// which lives ten times as long.
func (d *Directory) Clients() directory.Directory {
	if d.around != nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.clients == nil {
		d.clients = d.newClients()
		if d.closed {
			_ = d.clients.Close() // it has announced nothing
		}
	}
	return d.clients
}

func (d *Directory) newClients() *Directory {
	config := d.config
	config.Prefix += clientsKey
	config.Expiry = min(clientExpiries*config.Expiry, maxExpiry)
	clients := newDirectory(config, d.servers)
	clients.around = d
	return clients
}

// closeClients closes the directory of the clients, if there is one. An entry that stays is no
// error, since nothing fails without it: it ends with its lease.
func (d *Directory) closeClients() {
	d.mu.Lock()
	clients := d.clients
	d.mu.Unlock()
	if clients != nil {
		_ = clients.Close()
	}
}
