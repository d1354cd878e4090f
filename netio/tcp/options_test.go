// SPDX-License-Identifier: Apache-2.0

package tcp_test

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/netio/tcp"
)

// A descriptor that is no socket refuses all options.
func TestEndpoint_namesAnOptionThatIsRefused(t *testing.T) {
	fd, err := unix.MemfdCreate("no socket", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatalf("make a file: got error %v, want none", err)
	}
	defer unix.Close(fd)
	if err, want := tcp.SetOptions(fd, &tcp.Config{}), "set TCP_NODELAY to 1: "; !errors.Is(err, unix.ENOTSOCK) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got error %v, want %q and %v", err, want, unix.ENOTSOCK)
	}
}
