// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"errors"
	"strings"
	"testing"

	"tagbus/directory/etcd"
	"tagbus/directory/etcd/internal/embedded"
)

// Members that were started without --join have a directory each: a bus was said to be empty, or not, as one or the
// other was asked.
func TestServersOfSeveralClusters(t *testing.T) {
	one, other := embedded.Start(t), embedded.Start(t)
	announceAsOther(t, one, "a")
	for _, test := range []struct {
		name      string
		endpoints []string
		several   bool
	}{
		{"one server", []string{one.Endpoint()}, false},
		{"one server by two addresses", []string{one.Endpoint(), newProxy(t, one).listener.Addr().String()}, false},
		{"two clusters", []string{one.Endpoint(), other.Endpoint()}, true},
	} {
		d, err := etcd.Open(etcd.Config{Endpoints: test.endpoints, Prefix: "/tagbus/test/"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.List()
		if errors.Is(err, etcd.ErrSeveral) != test.several {
			t.Errorf("%s: got %v, want that they are of several clusters: %t", test.name, err, test.several)
		}
		if test.several && err != nil && !strings.Contains(err.Error(), one.Endpoint()+","+other.Endpoint()) {
			t.Errorf("%s: got %v, want the servers named", test.name, err)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
