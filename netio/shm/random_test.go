// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"testing"

	"tagbus/netio"
	"tagbus/netio/netiotest"
	"tagbus/netio/shm"
)

// TestRandomRun drives the backend at random against the suite's model. Each walk draws a
// netio.Config of its own.
func TestRandomRun(t *testing.T) {
	tests := []struct {
		name   string
		cfg    shm.Config
		region func(int) ([]byte, error)
	}{
		{"copied", shm.Config{}, nil},
		{"lent", shm.Config{}, netio.AllocSharedRegion},
		{"narrow, copied", narrow(), nil},
		{"narrow, lent", narrow(), netio.AllocSharedRegion},
		{"with certificates", withTLS(t, shm.Config{}), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := suite(t, tt.cfg)
			s.Region = tt.region
			netiotest.RandomRun(t, s)
		})
	}
}
