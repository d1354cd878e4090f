// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"testing"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio/netiotest"
	"tagbus/netio/tcp"
)

// TestRandomRun drives the backend at random against the suite's model, with
// socket buffers and budgets as they are and so small that nearly everything
// is done in part. Each walk draws a netio.Config of its own.
func TestRandomRun(t *testing.T) {
	narrow := tcp.WithAcceptBudget(tcp.WithReadBudget(tcp.Config{SendBufferBytes: 1, ReceiveBufferBytes: 16384}, 4<<10), 1)
	tests := []struct {
		name string
		cfg  tcp.Config
	}{
		{"as it is", tcp.Config{}},
		{"small socket buffers and budgets", narrow},
		{"TLS", withTLS(t, tcp.Config{})},
		{"TLS, small socket buffers and budgets", withTLS(t, narrow)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := suite(backendtest.OwnHost().String(), tt.cfg)
			netiotest.RandomRun(t, s)
		})
	}
}
