// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/directory/etcd"
	"tagbus/directory/etcd/internal/embedded"
)

func TestDirectory_conformance(t *testing.T) {
	directorytest.Run(t, onServer(t))
}

// onServer returns a function that opens an empty directory.
func onServer(t *testing.T) func(t *testing.T) directory.Opened {
	t.Helper()
	server := embedded.Start(t)
	var opened atomic.Int32
	return func(t *testing.T) directory.Opened {
		t.Helper()
		d, err := etcd.Open(etcd.Config{
			Endpoints: []string{server.Endpoint()}, Prefix: fmt.Sprintf("/tagbus/test-%d/", opened.Add(1)),
		})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
}

// TestDirectory_crowded: those that are announced are told by a count of the servers.
func TestDirectory_crowded(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	directorytest.RunCrowded(t, func(t *testing.T, room int) func() directory.Opened {
		t.Helper()
		return func() directory.Opened {
			d, err := etcd.Open(etcd.Config{
				Endpoints: []string{server.Endpoint()}, Prefix: "/tagbus/test/", Expiry: expiry,
				RequestTimeout: 15 * time.Second, AnnounceTimeout: 15 * time.Second,
			})
			if err != nil {
				t.Fatal(err)
			}
			etcd.SetLimit(d, room)
			etcd.CountEach(d, time.Millisecond)
			return d
		}
	})
}
