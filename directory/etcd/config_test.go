// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tagbus/bus/directory/directorytest"
	"tagbus/directory/etcd"
	"tagbus/directory/etcd/internal/embedded"
	"tagbus/internal/testkit/extremes"
)

func TestConfig_Validate_namesWhatIsWrong(t *testing.T) {
	good := func() etcd.Config {
		return etcd.Config{Endpoints: []string{"a:1", "[::1]:2", "unix:///some/socket"}, Prefix: "/tagbus/bus/"}
	}
	if err := good().Validate(); err != nil {
		t.Errorf("got %v, want nil", err)
	}
	tests := []struct {
		want   string
		change func(*etcd.Config)
	}{
		{"0 Endpoints", func(c *etcd.Config) { c.Endpoints = nil }},
		{"65 Endpoints", func(c *etcd.Config) { c.Endpoints = slices.Repeat([]string{"a:1"}, 65) }},
		{"Endpoints[1]", func(c *etcd.Config) { c.Endpoints[1] = "http://a:1" }},
		{"Endpoints[2]", func(c *etcd.Config) { c.Endpoints[2] = "unix://socket" }},
		{"Endpoints[0]", func(c *etcd.Config) { c.Endpoints[0] = "a" }},
		{"Prefix", func(c *etcd.Config) { c.Prefix = "" }},
		{"Prefix", func(c *etcd.Config) { c.Prefix = "/" }},
		{"Prefix", func(c *etcd.Config) { c.Prefix = "bus/" }},
		{"Prefix", func(c *etcd.Config) { c.Prefix = "/bus" }},
		{"Prefix", func(c *etcd.Config) { c.Prefix = "/b\x00us/" }},
		{"Prefix", func(c *etcd.Config) { c.Prefix = "/" + strings.Repeat("x", 512) + "/" }},
		{"User and Password", func(c *etcd.Config) { c.User = "daq" }},
		{"User and Password", func(c *etcd.Config) { c.Password = secret }},
		{"Expiry", func(c *etcd.Config) { c.Expiry = time.Second }},
		{"Expiry", func(c *etcd.Config) { c.Expiry = 25 * time.Hour }},
		{"RequestTimeout", func(c *etcd.Config) { c.RequestTimeout = time.Millisecond }},
		{"AnnounceTimeout", func(c *etcd.Config) { c.AnnounceTimeout = -1 }},
	}
	for _, test := range tests {
		c := good()
		test.change(&c)
		_, err := etcd.Open(c)
		if !errors.Is(err, etcd.ErrConfig) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("got %v, want ErrConfig with %q", err, test.want)
		}
	}
}

// TestConfig_atTheEdgesOfItsTypes: a directory with a time near the largest or
// smallest of its type refuses it by name, or an entry is seen.
func TestConfig_atTheEdgesOfItsTypes(t *testing.T) {
	server := embedded.Start(t)
	folders := 0
	extremes.Each(t, etcd.Config{}, func(t *testing.T, config any) error {
		c := config.(etcd.Config)
		folders++
		c.Endpoints, c.Prefix = []string{server.Endpoint()}, fmt.Sprintf("/tagbus/edge-%d/", folders)
		// The defaults are too short for a machine that does other things too.
		for _, timeout := range []*time.Duration{&c.RequestTimeout, &c.AnnounceTimeout} {
			if *timeout == 0 {
				*timeout = 20 * time.Second
			}
		}
		d, err := etcd.Open(c)
		if errors.Is(err, etcd.ErrConfig) {
			return err
		}
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if _, err := d.Announce(directorytest.Entry("a", 1)); err != nil {
			t.Fatal(err)
		}
		if entries, err := d.List(); err != nil || len(entries) != 1 {
			t.Errorf("got %d entries, error %v; want the one that is announced", len(entries), err)
		}
		return nil
	})
}
