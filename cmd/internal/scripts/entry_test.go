// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"net/netip"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/tags"
)

// announceEntry is the command entry DIR NAME HOST ADDRESS TAGS: until the script ends, the
// folder has a publisher over TCP of that name, which is its instance too.
func announceEntry(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 5 {
		ts.Fatalf("usage: entry DIR NAME HOST ADDRESS TAGS")
	}
	set, err := tags.ParseSet(args[4])
	ts.Check(err)
	address, err := netip.ParseAddrPort(args[3])
	ts.Check(err)
	d, err := file.Open(ts.MkAbs(args[0]), file.Config{})
	ts.Check(err)
	ts.Defer(func() { ts.Check(d.Close()) })
	_, err = d.Announce(directory.Entry{
		Instance: args[1], Name: args[1], Host: args[2], Backend: "tcp", Addresses: []netip.AddrPort{address},
		Tags: set, PageBytes: 1 << 16, MaxMessageBytes: 1 << 20, Since: time.Now(),
	})
	ts.Check(err)
}
