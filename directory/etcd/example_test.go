// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"fmt"
	"net/netip"

	"tagbus/bus/directory"
	_ "tagbus/directory/etcd" // the schemes etcd and etcds
	"tagbus/tags"
)

// A program that imports the package has the schemes etcd and etcds. Opening waits for no
// server, and a publisher whose servers are away has a Reporter that says so.
func Example() {
	d, err := directory.Open("etcd://127.0.0.1:1/detector", directory.Settings{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Close()

	r, err := d.Announce(directory.Entry{
		Instance: "2Xq7d", Backend: "tcp", Addresses: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.7:53100")},
		Tags: tags.Of(1, 2), PageBytes: 65536, MaxMessageBytes: 1 << 20,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	r.(directory.Reporter).OnProblem(func(err error) {
		fmt.Println("not announced yet:", err != nil)
	})
	// Output: not announced yet: true
}
