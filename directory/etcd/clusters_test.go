// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tagbus/directory/etcd"
	"tagbus/directory/etcd/internal/embedded"
)

// Members that were started without --join have a directory each: a bus was said to be empty, or not, as one or the
// other was asked.
func TestServersOfSeveralClusters(t *testing.T) {
	one, other := embedded.Start(t), embedded.Start(t)
	for _, instance := range []string{"a", "b", "c"} {
		announceAsOther(t, one, instance)
	}
	for _, test := range []struct {
		name      string
		endpoints []string
		several   bool
	}{
		{"one server", []string{one.Endpoint()}, false},
		{"one server by two addresses", []string{one.Endpoint(), newProxy(t, one).listener.Addr().String()}, false},
		{"two clusters", []string{one.Endpoint(), other.Endpoint()}, true},
	} {
		d, err := etcd.Open(etcd.Config{Endpoints: test.endpoints, Prefix: "/tagbus/test/", RequestTimeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, err = d.List()
		if took := time.Since(began); test.several && took > 30*time.Second { // it waited for a change that the other has
			t.Errorf("%s: List took %v", test.name, took)
		}
		for test.several && !errors.Is(err, etcd.ErrSeveral) && time.Since(began) < 2*time.Minute {
			_, err = d.List() // on a busy host one of them had no connection yet
		}
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
