// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tagbus/directory/etcd"
	"tagbus/directory/etcd/internal/embedded"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // the tests wait more than they work
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// expiry is short, for tests that wait for one.
const expiry = 4 * time.Second

// open opens a directory on a server; the test closes it at its end.
func open(t *testing.T, s *embedded.Server, change ...func(*etcd.Config)) *etcd.Directory {
	t.Helper()
	config := etcd.Config{
		Endpoints: []string{s.Endpoint()}, Prefix: "/tagbus/test/", Expiry: expiry,
		// A machine that does other things too answers late. One that is away refuses at once.
		RequestTimeout: 15 * time.Second, AnnounceTimeout: 15 * time.Second,
	}
	for _, c := range change {
		c(&config)
	}
	d, err := etcd.Open(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("got %v from Close, want nil", err)
		}
	})
	return d
}
