// SPDX-License-Identifier: Apache-2.0

package member

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/server/v3/embed"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
)

const (
	// snapshotEvery is after how many changes etcd writes a snapshot and forgets the
	// changes before it, and keptChanges how many it keeps then for members that are
	// behind. They bound its memory: a change can be as long as an entry.
	snapshotEvery = 2_000
	keptChanges   = 500

	// maxStreams is how many requests one connection may have at once, watches and signs of
	// life included. A directory has two, and some more for a moment.
	maxStreams = 128

	// maxIdle is how long a connection may have no request. A directory always has one, since it
	// watches or keeps a lease.
	maxIdle = 5 * time.Minute
)

// embedded returns the configuration of etcd.
//
//   - initial: all members, with their addresses for each other.
//   - joins: whether they are there.
func (m *Member) embedded(initial string, joins bool) *embed.Config {
	e := embed.NewConfig()
	e.Name, e.Dir = m.config.Name, m.config.Data
	// Callers of the ports come by way of the front. Whatever etcd serves besides is at a socket
	// that its user alone reaches.
	e.ListenClientUrls, e.ListenPeerUrls = []url.URL{{Scheme: "unix", Path: m.sockets[0]}}, []url.URL{{Scheme: "unix", Host: m.sockets[1]}}
	e.GRPCAdditionalServerOptions = append(m.front.guard.Options(), grpc.KeepaliveParams(keepalive.ServerParameters{
		MaxConnectionIdle: maxIdle, Time: e.GRPCKeepAliveInterval, Timeout: e.GRPCKeepAliveTimeout,
	}))
	e.AdvertiseClientUrls, e.AdvertisePeerUrls = []url.URL{m.at.clients}, []url.URL{m.at.peers}
	e.InitialCluster = initial
	// Two directories that began at the same addresses have different ids.
	e.InitialClusterToken = rand.Text()
	if joins {
		e.ClusterState = embed.ClusterStateFlagExisting
	}
	e.PreVote = true
	e.SnapshotCount, e.SnapshotCatchUpEntries = snapshotEvery, keptChanges
	e.QuotaBackendBytes = cmp.Or(m.config.Quota, DefaultQuota)
	e.MaxRequestBytes, e.MaxConcurrentStreams = MaxEntry, maxStreams
	e.AutoCompactionMode = embed.CompactorModePeriodic
	e.AutoCompactionRetention = cmp.Or(m.config.Compaction, DefaultCompaction).String()
	e.EnableGRPCGateway = false
	e.ZapLoggerBuilder = embed.NewZapLoggerBuilder(m.core.logger())
	e.ServiceRegister = m.serveClients
	if t := m.config.TLS; !t.isZero() {
		e.PeerTLSInfo = transport.TLSInfo{CertFile: t.Cert, KeyFile: t.Key, TrustedCAFile: t.CA}
	}
	return e
}

// addressError returns the error for an address that the system refuses.
func (m *Member) addressError(at string, err error) error {
	hint := "give an address of this host and a port above 1023"
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		hint = "another program listens there: stop it, or give another port; a member needs the port for clients and the next one"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		hint = "this host has no such address: give one of its own, or listen on 0.0.0.0 and give this one in Advertise"
	}
	return &SettingError{"Listen", at, ErrAddress, cause(err), hint}
}

// cause returns the error of the system within an error of package net.
func cause(err error) error {
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return errno
	}
	return err
}

// sameDirectory returns an error if the members to join are of another directory than
// that of the folder. Members that do not answer are no error.
func (m *Member) sameDirectory(ctx context.Context) error {
	if len(m.config.Join) == 0 || m.kept.Directory == "" {
		return nil
	}
	client, err := Dial(m.config.Join, m.config.TLS)
	if err != nil {
		return err
	}
	for _, endpoint := range client.Endpoints() {
		ctx, cancel := context.WithTimeout(ctx, answerTime)
		status, statusErr := client.Status(ctx, endpoint)
		cancel()
		if statusErr != nil {
			continue
		}
		if id := fmt.Sprintf("%x", status.Header.ClusterId); id != m.kept.Directory {
			err = &SettingError{
				"Data", m.config.Data, ErrForeign, fmt.Errorf("it is of the directory %s, and %s is of %s", m.kept.Directory, endpoint, id),
				"clear the folder to join the other directory, or leave Join out",
			}
		}
		break
	}
	return errors.Join(err, client.Close())
}

// explain returns the error for one with which etcd did not start.
func (m *Member) explain(err error) error {
	data := m.config.Data
	for _, at := range []url.URL{m.at.bindClients, m.at.bindPeers} {
		if strings.Contains(err.Error(), at.Host) && (errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EACCES)) {
			return m.addressError(at.Host, err)
		}
	}
	switch text := err.Error(); {
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EROFS), strings.Contains(text, "data directory"):
		return folderError(data, err)
	case strings.Contains(text, "database file"), strings.Contains(text, "wal:"), strings.Contains(text, "snap:"):
		return &SettingError{"Data", filepath.Join(data, etcdFolder), ErrDamaged, err, "remove the member from the directory (tagbus-directory remove " + m.config.Name + "), clear the folder, and join again"}
	case strings.Contains(text, "cannot fetch cluster info"):
		return &SettingError{"Join", strings.Join(m.config.Join, ","), ErrNoAnswer, err, "the members do not answer at their addresses for members: check that this host reaches the port after that for clients"}
	default:
		return &SettingError{"Data", data, ErrFolder, err, "etcd did not start"}
	}
}

// hostsOf returns the hosts of URLs, each with a comma before it.
func hostsOf(urls []string) (hosts string) {
	for _, one := range urls {
		if u, err := url.Parse(one); err == nil && u.Host != "" {
			hosts += "," + u.Host
		}
	}
	return hosts
}
