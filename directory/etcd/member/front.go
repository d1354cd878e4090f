// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/etcdserver/api/etcdhttp"
	"go.etcd.io/etcd/server/v3/etcdserver/api/rafthttp"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"tagbus/access"
	"tagbus/directory/etcd/internal/door"
	"tagbus/directory/etcd/internal/guard"
	"tagbus/identity"
)

// maxPeers is how many connections other members may have to this one. Those that have not said
// what they are give way before they take all of them (door).
const maxPeers = 1024

// front is what stands between etcd, which serves a socket that only its user reaches, and the
// ports.
type front struct {
	access         *access.Access // nil: neither certificates nor a policy
	roster         *door.Roster
	guard          *guard.Guard
	clients, peers net.Listener
	doors          []*door.Door
	webs           []*http.Server
	serving        sync.WaitGroup
}

// openFront reads certificates and policy, and takes the ports.
//
//   - Errors: *SettingError.
func (m *Member) openFront() (err error) {
	f := &m.front
	defer func() {
		if err != nil {
			err = errors.Join(err, f.close())
		}
	}()
	if err := f.openAccess(&m.config); err != nil {
		return err
	}
	var own func() identity.Principal
	if !m.config.TLS.isZero() {
		own = f.access.Self
	}
	if f.roster, err = door.NewRoster(m.config.Admins, m.config.Members, own, m.hosts); err != nil {
		return &SettingError{"Members", "", ErrInvalidConfig, err, "give names as the policy has them, such as dns:directory-*.cern.ch"}
	}
	f.guard = &guard.Guard{Hint: m.whoAdministers(), LeaseOf: m.leaseOf, History: m.history, Authenticates: m.authenticates, Refused: m.sayRefused}
	if f.access != nil {
		f.guard.Access, f.guard.Problem = f.access, f.problem
	}
	if f.clients, err = net.Listen("tcp", m.at.bindClients.Host); err != nil {
		return m.addressError(m.at.bindClients.Host, err)
	}
	f.peers, err = transport.NewListenerWithOpts(m.at.bindPeers.Host, "http", transport.WithTimeout(rafthttp.ConnReadTimeout, rafthttp.ConnWriteTimeout))
	if err != nil {
		return m.addressError(m.at.bindPeers.Host, err)
	}
	return nil
}

// open lets callers in. etcd runs.
//
//   - Errors: of the identity.
func (m *Member) open() error {
	f := &m.front
	var store *identity.Store
	if f.access != nil {
		store = f.access.Identity()
	}
	clients, err := door.Open(door.Config{Listener: f.clients, Identity: store, Roster: f.roster, Split: true, Most: maxClients()})
	if err != nil {
		return err
	}
	m.letIn(clients)
	peers, err := door.Open(door.Config{Listener: f.peers, Identity: store, Roster: f.roster, Most: maxPeers, Refusal: m.noMember})
	if err != nil {
		return err
	}
	m.mutex.Lock()
	f.doors = append(f.doors, peers)
	m.mutex.Unlock()
	f.serve(clients.HTTP, webServer(m.web()))
	f.serve(peers.HTTP, &http.Server{
		MaxHeaderBytes: maxHeaders, Handler: m.onlyMembers(etcdhttp.NewPeerHandler(zap.NewNop(), m.etcd.Server)), ReadTimeout: 5 * time.Minute,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, callerKey{}, c.RemoteAddr())
		},
	})
	return nil
}

// maxHeaders is how many bytes the headers of a request of HTTP may have. In memory they take many times as much.
const maxHeaders = 16 << 10

// webServer returns the server of HTTP at the port for clients, where all requests and answers are short.
func webServer(handler http.Handler) *http.Server {
	const patience = 30 * time.Second // with a caller that asks, or reads, slowly
	return &http.Server{
		Handler: handler, MaxHeaderBytes: maxHeaders,
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: patience, WriteTimeout: patience, IdleTimeout: time.Minute,
	}
}

// serve serves HTTP.
func (f *front) serve(at net.Listener, server *http.Server) {
	f.webs = append(f.webs, server)
	f.serving.Go(func() { _ = server.Serve(at) })
}

// serveClients serves gRPC with a server that etcd has made.
func (m *Member) serveClients(server *grpc.Server) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.servers = append(m.servers, server)
	if len(m.front.doors) > 0 {
		m.serveAt(server)
	}
}

// letIn serves clients at their door, with the servers that etcd has made so far.
func (m *Member) letIn(clients *door.Door) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.front.doors = append(m.front.doors, clients)
	for _, server := range m.servers {
		m.serveAt(server)
	}
}

// serveAt serves gRPC at the door of clients, which is the first. mutex is held.
func (m *Member) serveAt(server *grpc.Server) {
	if m.closed {
		return
	}
	at := m.front.doors[0].RPC
	m.front.serving.Go(func() { _ = server.Serve(at) })
}

// close ends it all. What was not opened is closed, too.
func (f *front) close() (err error) {
	for _, web := range f.webs {
		err = errors.Join(err, web.Close())
	}
	for _, d := range f.doors {
		err = errors.Join(err, d.Close())
	}
	if len(f.doors) == 0 {
		for _, l := range []net.Listener{f.clients, f.peers} {
			if l != nil {
				err = errors.Join(err, l.Close())
			}
		}
	}
	f.serving.Wait()
	if f.access != nil {
		f.access.Close()
	}
	return err
}

// reserved is how many descriptors a member needs besides those of clients, as etcd has it.
const reserved = 150 + maxPeers

// maxClients returns how many connections clients may have.
func maxClients() int {
	const least, most = 64, 1 << 16
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return least
	}
	return int(min(most, max(least, int64(min(limit.Cur, 1<<40))-reserved)))
}

// callerKey is that of the *guard.Addr in the context of a request.
type callerKey struct{}

// onlyMembers refuses what other callers than members ask at the port for members. A member that
// was removed has connections yet.
func (m *Member) onlyMembers(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		why := "the caller is not known"
		if at, ok := r.Context().Value(callerKey{}).(*guard.Addr); ok {
			why = m.noMember(at.Caller)
		}
		if why != "" {
			http.Error(w, why, http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// noMember returns why a caller may not reach the port for members; empty: it may.
func (m *Member) noMember(caller guard.Caller) string {
	if caller.Rank() >= guard.Member {
		return ""
	}
	m.say("a caller was refused at the port for members: give its name or address with --member if it is one", caller.String())
	return guard.Prefix + "only members may talk to members: start this one with --member and the name of the certificate, or the address, of the other"
}

// web returns what is served by HTTP at the port for clients: no service of etcd, and nothing
// that a page of another site may ask for.
func (m *Member) web() http.Handler {
	mux := http.NewServeMux()
	etcdhttp.HandleMetrics(mux)
	etcdhttp.HandleVersion(mux, m.etcd.Server)
	etcdhttp.HandleHealth(zap.NewNop(), mux, m.etcd.Server)
	own := []string{"localhost", strings.ToLower(m.at.clients.Hostname())}
	if name, err := os.Hostname(); err == nil {
		own = append(own, strings.ToLower(name))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch host := (&url.URL{Host: r.Host}).Hostname(); {
		case net.ParseIP(host) == nil && !slices.Contains(own, strings.ToLower(host)):
			http.Error(w, "this member has another name: ask for it by its address", http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			http.Error(w, "want GET", http.StatusMethodNotAllowed)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// whoAdministers says which callers administer the member.
func (m *Member) whoAdministers() string {
	if !m.config.TLS.isZero() {
		return "administrators may, which are those that --admin of the member names, such as --admin 'cn:shift leader', its own certificate, and its user with --data"
	}
	name := "root"
	if u, err := user.Current(); err == nil && u.Username != name {
		name = "its user " + u.Username + " and root"
	}
	return "administrators may: without certificates that is " + name + ", on its host; hosts that --member names may join"
}

// Reload reads certificates, lists and policy again now, and ends connections that count no
// more. It happens by itself every 10 s.
//
//   - Errors: as package access has them; what was read before stays in use.
//   - Threads: any. Blocks: for the disk.
func (m *Member) Reload() error {
	if m.front.access == nil {
		return nil
	}
	err := m.front.access.Reload()
	for _, d := range m.front.doors {
		d.Look()
	}
	return err
}
