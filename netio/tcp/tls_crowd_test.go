// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"tagbus/netio"
	"tagbus/netio/tcp"
)

// TestTLS_strangersAreFew, whatever the number of connections may be: each costs memory, and no one knows whose it is.
func TestTLS_strangersAreFew(t *testing.T) {
	var log lockedBuffer
	const most = 3
	cfg := tcp.WithMaxStrangers(withTLS(t, tcp.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}), most)
	server := serve(t, newWatcher(), cfg, netio.Params{})
	for range most {
		dialRaw(t, server.l.Addr())
	}
	for tcp.Strangers(server.b) < most {
		onLoop(t, server.b.Loop(), func() {})
	}
	for old := time.Now(); time.Since(old) < tcp.YieldAfter; { // they have had their time
		onLoop(t, server.b.Loop(), func() {})
	}
	dialSecure(t, cfg, server)
	if got := server.b.Stats().AcceptShed; got != 1 {
		t.Errorf("AcceptShed: got %d, want 1", got)
	}
	if got := log.String(); !strings.Contains(got, "without-certificate=3 failed=1") {
		t.Errorf("log: got %q, want the limit", got)
	}
}
