// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/directory/etcd"
	"tagbus/directory/etcd/internal/embedded"
)

// requireAuth makes a server want users: root, and daq, which may write what has the
// prefix.
func requireAuth(t *testing.T, s *embedded.Server) *clientv3.Client {
	t.Helper()
	ctx, c := context.Background(), s.Client()
	steps := []func() error{
		func() error { _, err := c.RoleAdd(ctx, "root"); return err },
		func() error { _, err := c.UserAdd(ctx, "root", "rootpw"); return err },
		func() error { _, err := c.UserGrantRole(ctx, "root", "root"); return err },
		func() error { _, err := c.RoleAdd(ctx, "bus"); return err },
		func() error {
			const key = "/tagbus/test/"
			_, err := c.RoleGrantPermission(ctx, "bus", key, clientv3.GetPrefixRangeEnd(key), clientv3.PermissionType(clientv3.PermReadWrite))
			return err
		},
		func() error { _, err := c.UserAdd(ctx, "daq", secret); return err },
		func() error { _, err := c.UserGrantRole(ctx, "daq", "bus"); return err },
		func() error { _, err := c.AuthEnable(ctx); return err },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	root, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Endpoint()}, Username: "root", Password: "rootpw", DialTimeout: time.Minute, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

func asUser(user, password string) func(*etcd.Config) {
	return func(c *etcd.Config) { c.User, c.Password = user, password }
}

func TestDirectory_users(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	requireAuth(t, server)
	d := open(t, server, asUser("daq", secret))
	a := directorytest.Announce(t, d, directorytest.Entry("a", 1))
	r, stop := directorytest.Watch(t, d)
	defer stop()
	r.Want(directory.Appeared, "a")
	if err := a.Update(directorytest.Entry("a", 2)); err != nil {
		t.Fatal(err)
	}
	r.Want(directory.Changed, "a")
	if err := a.Withdraw(); err != nil {
		t.Fatal(err)
	}
	r.Want(directory.Gone, "a")

	tests := []struct {
		name, hint     string
		user, password string
		prefix         string
	}{
		{"no user", "give user and password-file", "", "", "/tagbus/test/"},
		{"a wrong password", "check user and password-file", "daq", "wrong-" + secret, "/tagbus/test/"},
		{"no permission", "may read and write", "daq", secret, "/tagbus/other/"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := open(t, server, asUser(test.user, test.password), func(c *etcd.Config) { c.Prefix = test.prefix })
			_, announced := d.Announce(directorytest.Entry("b", 1))
			_, listed := d.List()
			for what, err := range map[string]error{"Announce": announced, "List": listed} {
				if !errors.Is(err, etcd.ErrRefused) || !strings.Contains(err.Error(), test.hint) || strings.Contains(err.Error(), secret) {
					t.Errorf("got %v from %s, want ErrRefused with the hint %q", err, what, test.hint)
				}
			}
		})
	}
}

// TestDirectory_aTokenThatTheServersForget as after a restart: simple tokens are in their memory.
func TestDirectory_aTokenThatTheServersForget(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	requireAuth(t, server)
	publisher := open(t, server, patient, asUser("daq", secret))
	d := open(t, server, patient, asUser("daq", secret))
	directorytest.Announce(t, publisher, directorytest.Entry("a", 1))
	r, stop := directorytest.Watch(t, d)
	defer stop()
	r.Want(directory.Appeared, "a")
	server.Stop()
	server.Start()
	told := directorytest.Announce(t, publisher, directorytest.Entry("b", 1))
	wantAfter(t, r, directory.Appeared, "b")
	if err := told.Withdraw(); err != nil {
		t.Error(err)
	}
	wantEntries(t, d, "a")
}

// TestDirectory_aPermissionThatIsTakenAway is a problem, and over when it is given back.
func TestDirectory_aPermissionThatIsTakenAway(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	root := requireAuth(t, server)
	d := open(t, server, patient, asUser("daq", secret))
	a := directorytest.Announce(t, d, directorytest.Entry("a", 1))
	told := reportsOf(t, a)
	ctx := context.Background()
	if _, err := root.UserRevokeRole(ctx, "daq", "bus"); err != nil {
		t.Fatal(err)
	}
	if err := a.Update(directorytest.Entry("a", 2)); !errors.Is(err, etcd.ErrRefused) {
		t.Errorf("got %v from Update, want ErrRefused", err)
	}
	if err := told.next(t); !errors.Is(err, etcd.ErrRefused) {
		t.Errorf("got report %v, want ErrRefused", err)
	}
	if _, err := root.UserGrantRole(ctx, "daq", "bus"); err != nil {
		t.Fatal(err)
	}
	if err := told.next(t); err != nil {
		t.Errorf("got report %v, want nil", err)
	}
}

// authority issues certificates for a test.
type authority struct {
	t      *testing.T
	folder string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	file   string
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t, folder: t.TempDir()}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	a.file, _, a.cert, a.key = a.issue(name, template, nil)
	return a
}

// issue writes a certificate and its key.
func (a *authority) issue(name string, template *x509.Certificate, parent *x509.Certificate) (cert, key string, c *x509.Certificate, k *ecdsa.PrivateKey) {
	a.t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	signer := a.key
	if parent == nil {
		parent, signer = template, k
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &k.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	if c, err = x509.ParseCertificate(der); err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, key = filepath.Join(a.folder, name+".pem"), filepath.Join(a.folder, name+".key")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	return cert, key, c, k
}

// leaf issues a certificate of a server or a client.
func (a *authority) leaf(name string) (cert, key string) {
	a.t.Helper()
	cert, key, _, _ = a.issue(name, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost", "s"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert)
	return cert, key
}

func TestOpenURL_overTLS(t *testing.T) {
	t.Parallel()
	good, bad := newAuthority(t, "good"), newAuthority(t, "bad")
	serverCert, serverKey := good.leaf("server")
	clientCert, clientKey := good.leaf("client")
	server := embedded.Start(t, embedded.TLS(serverCert, serverKey, good.file))
	proxy := newProxy(t, server) // so that there is an address that a URL can have
	url := func(options string) string {
		return "etcds://" + proxy.listener.Addr().String() + "/test?" + options
	}
	d, err := directory.Open(url("ca="+good.file+"&cert="+clientCert+"&key="+clientKey), directory.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	directorytest.Announce(t, d, directorytest.Entry("a", 1))
	wantEntries(t, d, "a")
	if err := d.Close(); err != nil {
		t.Errorf("got %v from Close, want nil", err)
	}
	for name, url := range map[string]string{
		"another authority": url("ca=" + bad.file + "&cert=" + clientCert + "&key=" + clientKey),
		"no certificate":    url("ca=" + good.file),
		"no TLS":            strings.Replace(url("")[:len(url(""))-1], "etcds", "etcd", 1),
	} {
		d, err := directory.Open(url, directory.Settings{})
		if err != nil {
			t.Fatalf("%s: got %v, want nil", name, err)
		}
		if _, err := d.List(); !errors.Is(err, etcd.ErrAway) {
			t.Errorf("%s: got %v from List, want ErrAway", name, err)
		} else if !strings.Contains(err.Error(), "the certificates") {
			t.Errorf("%s: got %v from List, want a hint at the certificates", name, err)
		}
		if err := d.Close(); err != nil {
			t.Errorf("%s: got %v from Close, want nil", name, err)
		}
	}
}

// TestDirectory_aCertificateThatIsRenewed is used without a restart.
func TestDirectory_aCertificateThatIsRenewed(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, "ca")
	cert, key := a.leaf("client")
	c, err := etcd.ParseURL("etcds://h/bus?ca=" + a.file + "&cert=" + cert + "&key=" + key)
	if err != nil {
		t.Fatal(err)
	}
	present := func() []byte {
		t.Helper()
		pair, err := c.TLS.GetClientCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		return pair.Certificate[0]
	}
	first := present()
	a.leaf("client")
	second := present()
	if bytes.Equal(first, second) {
		t.Error("got the old certificate, want the one that stands in the file")
	}
	if err := os.WriteFile(key, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if len(present()) == 0 {
		t.Error("got none while the files are replaced, want one")
	}
}
