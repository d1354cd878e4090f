// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"tagbus/bus/directory/directorytest"
	"tagbus/directory/etcd/internal/embedded"
)

// userOf returns a client of etcd with a user.
func userOf(t *testing.T, s *embedded.Server, name, password string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Endpoint()}, Username: name, Password: password, DialTimeout: time.Minute, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// What the roles of docs/security.md keep a user from in the etcd of a site, and what they do not:
// etcd knows no owner of a key below a prefix, nor of a lease without keys.
func TestDirectory_rolesInTheEtcdOfASite(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	root := requireAuth(t, server)
	ctx := context.Background()
	steps := []func() error{
		func() error { _, err := root.RoleAdd(ctx, "look"); return err },
		func() error {
			const key = "/tagbus/test/"
			_, err := root.RoleGrantPermission(ctx, "look", key, clientv3.GetPrefixRangeEnd(key), clientv3.PermissionType(clientv3.PermRead))
			return err
		},
		func() error { _, err := root.UserAdd(ctx, "monitor", secret); return err },
		func() error { _, err := root.UserGrantRole(ctx, "monitor", "look"); return err },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, server, patient, asUser("daq", secret))
	directorytest.Announce(t, d, directorytest.Entry("a", 1))
	found, err := root.Get(ctx, "/tagbus/test/e/a")
	if err != nil || len(found.Kvs) != 1 {
		t.Fatalf("got %v, %v, want the entry", found, err)
	}
	lease := clientv3.LeaseID(found.Kvs[0].Lease)
	tests := []struct {
		name            string
		try             func(*clientv3.Client) error
		publisher, look bool // whether etcd lets a user with the role do it
	}{
		{"read of the bus", func(c *clientv3.Client) error {
			_, err := c.Get(ctx, "/tagbus/test/", clientv3.WithPrefix())
			return err
		}, true, true},
		{"read of all", func(c *clientv3.Client) error { _, err := c.Get(ctx, "\x00", clientv3.WithFromKey()); return err }, false, false},
		{"read of another bus", func(c *clientv3.Client) error {
			_, err := c.Get(ctx, "/tagbus/other/", clientv3.WithPrefix())
			return err
		}, false, false},
		{"delete of another bus", func(c *clientv3.Client) error {
			_, err := c.Delete(ctx, "/tagbus/other/", clientv3.WithPrefix())
			return err
		}, false, false},
		{"member", func(c *clientv3.Client) error { _, err := c.MemberAdd(ctx, []string{"http://127.0.0.1:1"}); return err }, false, false},
		{"user", func(c *clientv3.Client) error { _, err := c.UserAdd(ctx, "x", "x"); return err }, false, false},
		{"authentication off", func(c *clientv3.Client) error { _, err := c.AuthDisable(ctx); return err }, false, false},
		{"snapshot", func(c *clientv3.Client) error { _, err := c.SnapshotWithVersion(ctx); return err }, false, false},
		{"defragmentation", func(c *clientv3.Client) error { _, err := c.Defragment(ctx, server.Endpoint()); return err }, false, false},
		{"another leader", func(c *clientv3.Client) error { _, err := c.MoveLeader(ctx, 1); return err }, false, false},
		{"list of members", func(c *clientv3.Client) error { _, err := c.MemberList(ctx); return err }, true, true},
		{"list of leases", func(c *clientv3.Client) error { _, err := c.Leases(ctx); return err }, true, true},
		{"history", func(c *clientv3.Client) error { _, err := c.Compact(ctx, 2); return err }, false, false},
		{"end of the lease of others", func(c *clientv3.Client) error { _, err := c.Revoke(ctx, lease); return err }, true, false},
		{"delete of an entry of others", func(c *clientv3.Client) error { _, err := c.Delete(ctx, "/tagbus/test/e/a"); return err }, true, false},
	}
	monitor, publisher := userOf(t, server, "monitor", secret), userOf(t, server, "daq", secret)
	for _, test := range tests {
		if err := test.try(monitor); (err == nil) != test.look {
			t.Errorf("%s by one that looks: got %v, want %t", test.name, err, test.look)
		}
		if err := test.try(publisher); (err == nil) != test.publisher {
			t.Errorf("%s by a publisher: got %v, want %t", test.name, err, test.publisher)
		}
	}
}
