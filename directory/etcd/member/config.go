// SPDX-License-Identifier: Apache-2.0

package member

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"tagbus/internal/stuck"
)

const (
	// ClientPort is the port for clients if Config.Listen names none.
	ClientPort = 2379

	// DefaultQuota is that of Config.Quota. An entry of 100 scattered tags takes about
	// 600 bytes, and each change of one as much again until history is compacted.
	DefaultQuota = 2 << 30

	// DefaultCompaction is that of Config.Compaction.
	DefaultCompaction = time.Hour

	// MaxEntry is the longest request that members take, in bytes: an entry as package
	// codec writes it, with its key.
	MaxEntry = 1536 << 10
)

// Limits of settings.
const (
	minQuota      = 16 << 20
	maxQuota      = 8 << 30 // what etcd recommends
	minCompaction = time.Second
	maxName       = 255
)

// Config describes a member. What is not set comes from the folder if a member ran there
// before, and has its default otherwise.
type Config struct {
	// Data is the folder of the member. It is made if it does not exist, for this user
	// only. It must be on a local disk, and no other member may have it. Required.
	Data string

	// Name is what operators call the member, unique within the directory. Default: the
	// name of the host, and with another port than ClientPort that port. With a name a
	// folder is taken that another etcd server has left, or etcdutl has made of a snapshot.
	Name string

	// Listen is HOST or HOST:PORT, where clients reach the member. Members talk to each
	// other at the next port. Default 127.0.0.1:2379, which other hosts do not reach.
	// 0.0.0.0 and [::] listen on all addresses, and then Advertise is required.
	Listen string

	// Advertise is the host under which clients and members reach this one, if it is
	// not that of Listen. Default: that of Listen.
	Advertise string

	// Join are addresses for clients of members of the directory, each HOST or
	// HOST:PORT. Any one that answers is enough. Default: none, the member is the first
	// one. A folder in which a member ran before needs none, and ignores them.
	Join []string

	// TLS are the files of the member's certificate. The zero value: no TLS.
	TLS TLS

	// Revoked are files with lists of revoked certificates, as package identity reads them.
	Revoked []string

	// Admins are the names of certificates that administer the directory, as patterns of
	// package acl, such as cn:shift leader. The own certificate does, and so does the user of
	// the process, with DialFolder; without TLS the processes of this user and of root on this
	// host do, and Admins must be empty.
	Admins []string

	// Members are the certificates of other members, as such patterns. Those with the names of
	// the own certificate are members, and those with the host name of one that has joined.
	// Without TLS they are hosts, addresses, and networks such as 10.0.0.0/24, from which
	// members may join; what the directory has taken comes from its address.
	Members []string

	// Policy is a file that says which peers may announce, as package acl reads it. Default:
	// all that the certificates let in, or reach the port.
	Policy string

	// Quota is how large the database may be, in bytes, before the directory takes no
	// more entries. Default DefaultQuota; 16 MiB to 8 GiB.
	Quota int64

	// Compaction is how long the history of changes is kept. A watcher that was away for
	// longer reads all entries again. Default DefaultCompaction; at least 1 s.
	Compaction time.Duration

	// Logger gets what matters of what etcd says, and what happens to the member.
	// Default: slog.Default().
	Logger *slog.Logger

	// Fatal is called with the reason before the process exits because of it: a disk
	// that is full or fails. It may flush what is written late. Default: none.
	Fatal func(error)
}

// TLS are files in PEM. All three are given, or none.
type TLS struct {
	Cert string // certificate of the member, for clients and for other members
	Key  string // its private key
	CA   string // certificates that sign those of clients and members, which must have one with a name
}

// isZero reports whether there is to be no TLS.
func (t TLS) isZero() bool { return t == TLS{} }

// scheme of URLs of etcd.
func (t TLS) scheme() string {
	if t.isZero() {
		return "http"
	}
	return "https"
}

// addresses are where a member listens, and where others reach it.
type addresses struct {
	bindClients, bindPeers url.URL // with IP addresses
	clients, peers         url.URL
}

// check returns what is wrong with the settings, joined.
func (c *Config) check() error {
	var errs []error
	add := func(setting, value, hint string) {
		errs = append(errs, &SettingError{setting, value, ErrInvalidConfig, nil, hint})
	}
	if c.Data == "" {
		add("Data", "", "give the path of a folder")
	}
	if strings.ContainsAny(c.Name, "=,\n") || len(c.Name) > maxName {
		add("Name", c.Name, fmt.Sprintf("want at most %d bytes, without = and comma", maxName))
	}
	if c.Quota != 0 && (c.Quota < minQuota || c.Quota > maxQuota) {
		add("Quota", strconv.FormatInt(c.Quota, 10), fmt.Sprintf("want %d to %d bytes", minQuota, int64(maxQuota)))
	}
	if c.Compaction != 0 && c.Compaction < minCompaction {
		add("Compaction", c.Compaction.String(), fmt.Sprintf("want at least %v", minCompaction))
	}
	for _, address := range c.Join {
		if _, err := ClientAddress(address); err != nil {
			add("Join", address, err.Error())
		}
	}
	if c.TLS.isZero() && len(c.Admins) > 0 {
		add("Admins", strings.Join(c.Admins, ","), "without certificates no name is certain: give the files of TLS")
	}
	if c.TLS.isZero() && len(c.Revoked) > 0 {
		add("Revoked", strings.Join(c.Revoked, ","), "without certificates none is revoked: give the files of TLS")
	}
	errs = append(errs, c.TLS.check()...)
	return errors.Join(errs...)
}

// check returns what is wrong with the files.
func (t TLS) check() (errs []error) {
	if t.isZero() {
		return nil
	}
	for _, file := range []struct{ setting, path string }{{"TLS.Cert", t.Cert}, {"TLS.Key", t.Key}, {"TLS.CA", t.CA}} {
		if file.path == "" {
			errs = append(errs, &SettingError{file.setting, "", ErrInvalidConfig, nil, "give all three files of TLS, or none"})
			continue
		}
		if _, err := stuck.ReadFile(file.path); err != nil {
			errs = append(errs, &SettingError{file.setting, file.path, ErrInvalidConfig, err, "give a file in PEM that this user may read"})
		}
	}
	return errs
}

// ClientAddress returns HOST:PORT for HOST or HOST:PORT, with ClientPort if there is none.
// Errors: what is wrong with it, for a person. Threads: any.
func ClientAddress(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host, port = strings.TrimSuffix(strings.TrimPrefix(address, "["), "]"), strconv.Itoa(ClientPort)
		if strings.Contains(host, ":") && net.ParseIP(host) == nil {
			return "", errors.New("want HOST or HOST:PORT")
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || n == 65535 {
		return "", errors.New("want a port from 1 to 65534")
	}
	if host == "" || strings.ContainsAny(host, "/@ ,=") {
		return "", errors.New("want HOST or HOST:PORT, a name or an address without anything else")
	}
	return net.JoinHostPort(host, port), nil
}

// resolve returns the addresses that Listen and Advertise mean.
//
//   - Errors: *SettingError.
func (c *Config) resolve() (a addresses, err error) {
	listen, err := ClientAddress(cmp.Or(c.Listen, "127.0.0.1"))
	if err != nil {
		return a, &SettingError{"Listen", c.Listen, ErrInvalidConfig, nil, err.Error()}
	}
	host, port, _ := net.SplitHostPort(listen)
	found, err := net.ResolveIPAddr("ip", host)
	if err != nil {
		return a, &SettingError{"Listen", c.Listen, ErrAddress, err, "give a name that this host can resolve, or an address"}
	}
	advertise := cmp.Or(c.Advertise, host)
	if _, err := ClientAddress(advertise); err != nil || strings.HasSuffix(advertise, "]") || net.ParseIP(advertise) == nil && strings.Contains(advertise, ":") {
		return a, &SettingError{"Advertise", advertise, ErrInvalidConfig, nil, "want the name or the address of this host, without a port"}
	}
	if ip := net.ParseIP(advertise); ip != nil && ip.IsUnspecified() {
		return a, &SettingError{"Advertise", advertise, ErrInvalidConfig, nil, "others cannot reach this address: give the name or an address of this host"}
	}
	n, _ := strconv.Atoi(port)
	at := func(host string, port int) url.URL {
		return url.URL{Scheme: c.TLS.scheme(), Host: net.JoinHostPort(host, strconv.Itoa(port))}
	}
	return addresses{
		bindClients: at(found.String(), n), bindPeers: at(found.String(), n+1),
		clients: at(advertise, n), peers: at(advertise, n+1),
	}, nil
}

// nameOr returns the name of a member at some addresses.
func (c *Config) nameOr(a addresses) string {
	if c.Name != "" {
		return c.Name
	}
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = a.clients.Hostname()
	}
	if port := a.clients.Port(); port != strconv.Itoa(ClientPort) {
		host += "-" + port
	}
	return host
}
