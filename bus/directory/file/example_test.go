// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"fmt"
	"net/netip"
	"os"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/tags"
)

func Example() {
	folder, err := os.MkdirTemp("", "bus")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a temporary folder

	d, err := file.Open(folder, file.Config{})
	if err != nil {
		panic(err)
	}
	defer d.Close() // withdraws the entry; if it cannot, the entry expires

	found := make(chan directory.Event)
	stop, err := d.Watch(func(e directory.Event) { found <- e })
	if err != nil {
		panic(err)
	}

	_, err = d.Announce(directory.Entry{
		Instance: "Yr5WtNXHCZ3zXmCHsLzGTk", Name: "felix-07", Backend: "tcp",
		Addresses: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.7:53100")},
		Tags:      tags.Of(0x1000013000190000), PageBytes: 65536, MaxMessageBytes: 1 << 20,
	})
	if err != nil {
		panic(err)
	}
	e := <-found
	stop()
	fmt.Println(e, "at", e.Entry.Addresses, "serves", e.Entry.Tags)
	// Output: appeared Yr5WtNXHCZ3zXmCHsLzGTk (felix-07) at [10.0.0.7:53100] serves 0x1000013000190000
}
