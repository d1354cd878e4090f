// SPDX-License-Identifier: Apache-2.0

package member

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"go.etcd.io/etcd/server/v3/embed"
	"google.golang.org/grpc"

	"tagbus/internal/sanitize"
)

// Member is a running member. Close it.
type Member struct {
	config Config
	kept   settings
	at     addresses
	folder *folder
	core   *core
	etcd   *embed.Etcd
	front  front

	sockets     [2]string // paths: of clients, of members
	descriptors []int     // by way of which the paths lead
	failed      chan error
	quit        chan struct{} // closed by Close
	watched     sync.WaitGroup

	mutex   sync.Mutex
	servers []*grpc.Server // for clients
	closed  bool
}

// Start starts a member: the one that ran in the folder; or a further one of the directory
// of Join; or else the first one of a new directory. It may not work yet: see Wait.
//
//   - ctx: until when a directory that is joined is asked again.
//   - Errors: *SettingError, joined.
//   - Threads: any. Blocks: for the disk, and until the directory takes the member.
func Start(ctx context.Context, config Config) (m *Member, err error) {
	config.Logger = cmp.Or(config.Logger, slog.Default())
	if err := config.check(); err != nil {
		return nil, err
	}
	m = &Member{config: config, failed: make(chan error, 1), quit: make(chan struct{})}
	m.core = newCore(config.Logger, m.fatal)
	if m.folder, err = openFolder(config.Data); err != nil {
		return nil, err
	}
	if err := m.start(ctx); err != nil {
		return nil, errors.Join(err, m.front.close(), m.closeSockets(), m.folder.close())
	}
	m.watched.Go(m.watch)
	return m, nil
}

// start does what Start does once the folder is locked.
func (m *Member) start(ctx context.Context) (err error) {
	if m.kept, err = m.folder.read(m.config.Name != ""); err != nil {
		return err
	}
	c := &m.config
	if c.Name != "" && m.kept.Name != "" && c.Name != m.kept.Name {
		return &SettingError{"Name", c.Name, ErrForeign, fmt.Errorf("the folder %s is that of %s", c.Data, m.kept.Name), "leave the name out, or give another folder"}
	}
	c.Name, c.Listen = cmp.Or(c.Name, m.kept.Name), cmp.Or(c.Listen, m.kept.Listen)
	if c.Advertise == "" && c.Listen == m.kept.Listen {
		c.Advertise = m.kept.Advertise
	}
	if len(c.Join) == 0 {
		c.Join = m.kept.Join
	}
	if m.at, err = c.resolve(); err != nil {
		return err
	}
	c.Name = c.nameOr(m.at)
	if err := m.openFront(); err != nil {
		return err
	}
	m.kept.Name, m.kept.Listen, m.kept.Advertise, m.kept.Join = c.Name, c.Listen, c.Advertise, c.Join
	if err := m.folder.write(m.kept); err != nil {
		return err
	}
	if err := m.openSockets(); err != nil {
		return err
	}
	ran := m.folder.ran()
	if ran {
		if err := m.sameDirectory(ctx); err != nil {
			return err
		}
	}
	initial := c.Name + "=" + m.at.peers.String()
	joins := !ran && len(c.Join) > 0
	if joins {
		j := joiner{config: c, name: c.Name, peers: m.at.peers.String()}
		if initial, err = j.join(ctx); err != nil {
			return err
		}
	}
	return m.serve(m.embedded(initial, joins))
}

// serve starts etcd, and keeps what the member has become.
func (m *Member) serve(config *embed.Config) (err error) {
	started, err := embed.StartEtcd(config)
	if err != nil {
		return m.explain(err)
	}
	m.mutex.Lock()
	m.etcd = started
	m.mutex.Unlock()
	if err := m.open(); err != nil {
		m.stop()
		return err
	}
	m.kept.Directory = m.etcd.Server.Cluster().ID().String()
	m.kept.Member = m.etcd.Server.MemberID().String()
	if err := m.folder.write(m.kept); err != nil {
		m.stop()
		return err
	}
	return nil
}

// fatal is called by the log before the process exits.
func (m *Member) fatal(err error) {
	m.config.Logger.Error(sanitize.Error(err))
	if m.config.Fatal != nil {
		m.config.Fatal(err)
	}
}

// Name returns the name of the member. Threads: any.
func (m *Member) Name() string { return m.config.Name }

// Clients returns the HOST:PORT at which clients reach the member. Threads: any.
func (m *Member) Clients() string { return m.at.clients.Host }

// Peers returns the HOST:PORT at which other members reach this one. Threads: any.
func (m *Member) Peers() string { return m.at.peers.Host }

// URL returns that of a bus in the directory, as programs are given it: with the addresses
// of all members that are known, this one first.
//
//   - bus: its name, a word.
//   - Threads: any. Blocks: never.
func (m *Member) URL(bus string) string {
	scheme := "etcd"
	if !m.config.TLS.isZero() {
		scheme = "etcds"
	}
	hosts := m.at.clients.Host
	for _, other := range m.etcd.Server.Cluster().Members() {
		if other.ID != m.etcd.Server.MemberID() {
			hosts += hostsOf(other.ClientURLs)
		}
	}
	return scheme + "://" + hosts + "/" + bus
}

// Failed returns a channel that gets an error, once, when the member stops without Close:
// ErrRemoved, wrapped in a *SettingError, or what etcd says. Close it then. Threads: any.
func (m *Member) Failed() <-chan error { return m.failed }

// Close stops the member: its clients are disconnected, and another member leads. The
// directory works on if enough others are up. Idempotent.
//
//   - Errors: of the system, for the folder.
//   - Threads: any. Blocks: at most about 10 s, until etcd has stopped.
func (m *Member) Close() error {
	m.mutex.Lock()
	if m.closed {
		m.mutex.Unlock()
		return nil
	}
	m.closed = true
	close(m.quit)
	m.mutex.Unlock()
	m.core.end()
	err := m.front.close()
	m.stop()
	m.watched.Wait()
	return errors.Join(err, m.closeSockets(), m.folder.close())
}

// stop stops etcd. By itself etcd waits 7 s for clients that watch, and for ever if it was
// never ready.
func (m *Member) stop() {
	m.mutex.Lock()
	servers := m.servers
	m.mutex.Unlock()
	for _, server := range servers {
		server.Stop()
	}
	m.etcd.Server.Stop()
	m.etcd.Close()
}
