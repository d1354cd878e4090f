package tcp_test

import (
	"testing"

	"tagbus/netio/netiotest"
	"tagbus/netio/tcp"
)

// TestRandomRun drives the backend at random against the suite's model: every
// accepted key is reported once, bytes are equal, nothing leaks.
func TestRandomRun(t *testing.T) {
	netiotest.CheckLeaks(t)
	netiotest.RandomRun(t, suite("127.0.0.1:0", tcp.Config{}))
}
