// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tagbus/directory/etcd"
)

func TestConfig(t *testing.T) {
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
