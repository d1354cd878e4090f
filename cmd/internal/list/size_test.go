// SPDX-License-Identifier: Apache-2.0

//go:build linux

package list

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/testkit"
	"tagbus/tags"
)

// TestAThousandPublishersAreListed is with a real folder, as a command that has
// just begun looks at it.
func TestAThousandPublishersAreListed(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it writes a thousand files")
	}
	folder := t.TempDir()
	full, err := file.Open(folder, file.Config{Beat: time.Hour})
	testkit.Must(t, err)
	defer full.Close()
	for i := range 1000 {
		set, err := tags.Range(tags.Tag(100*i), tags.Tag(100*i+99))
		testkit.Must(t, err)
		if _, err := full.Announce(directory.Entry{
			Instance: fmt.Sprintf("instance-%d", i), Name: fmt.Sprintf("felix-%d", i), Host: "host", PID: i + 1, Backend: "tcp",
			Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:5000")}, Tags: set,
			PageBytes: 1 << 16, MaxMessageBytes: 1 << 20, Since: time.Now(),
		}); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	e := &tool.Env{Flags: &tool.Flags{Bus: folder, Timeout: time.Minute}, Streams: cli.Streams{Out: &out, Err: &errs}}
	defer e.Close()
	c := &Command{Sort: "name"}
	began := time.Now()
	testkit.Must(t, c.Run(t.Context(), e))
	took := time.Since(began)
	if n := strings.Count(out.String(), "\n"); n != 1001 || errs.Len() > 0 {
		t.Errorf("got %d lines and %q, want 1001 and nothing", n, &errs)
	}
	t.Logf("a thousand entries took %v", took)
}
