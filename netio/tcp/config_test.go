// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tagbus/internal/testkit/backendtest"
	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

func TestConfig_reportsAllThatIsWrong(t *testing.T) {
	bad := tcp.Config{
		SendBufferBytes: -1, ReceiveBufferBytes: 1<<31 - 1, CongestionControl: "much-too-long-a-name",
		KeepaliveIdle: time.Millisecond, KeepaliveInterval: -1, UserTimeout: 1,
		MaxEndpoints: -1,
		TLS:          &tcp.TLS{HandshakeTimeout: 1, MaxHandshakes: -1, MaxRecords: -1},
	}
	_, err := tcp.Opener(backendtest.StartLoop(t, reactor.Config{}).EventLoop, bad)(newWatcher())
	if !errors.Is(err, netio.ErrInvalidConfig) {
		t.Fatalf("open backend: got error %v, want %v", err, netio.ErrInvalidConfig)
	}
	for _, field := range []string{
		"SendBufferBytes is -1", "ReceiveBufferBytes is 2147483647", "CongestionControl is \"much", "KeepaliveIdle is 1ms", "KeepaliveInterval is -1ns",
		"UserTimeout is 1ns", "MaxEndpoints is -1",
		"TLS.Server is nil", "TLS.Client is nil", "TLS.HandshakeTimeout is 1ns", "TLS.MaxHandshakes is -1", "TLS.MaxRecords is -1, want 1 to 17179869184",
	} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("error: got %q, want %q in it", err, field)
		}
	}
	if err := (tcp.Config{}).Validate(); err != nil {
		t.Errorf("Validate of the zero value: got error %v, want none", err)
	}
	if err := (tcp.Config{KeepaliveIdle: -1, UserTimeout: -1}).Validate(); err != nil {
		t.Errorf("Validate without keepalive and timeouts: got error %v, want none", err)
	}
}
