// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"os"
	"slices"
)

// Likely returns the devices of this host that the provider verbs may have: those with an active port, or
// all if none has one. It asks the system only, so that a device may turn out to have no address.
func Likely() (names []string) {
	root := os.DirFS("/")
	entries, _ := os.ReadDir("/" + sysDevices) // without drivers there are none
	var active []string
	for _, e := range entries {
		names = append(names, e.Name())
		if slices.ContainsFunc(portsOf(root, e.Name()), func(d Device) bool { return d.State == stateActive }) {
			active = append(active, e.Name())
		}
	}
	if active != nil {
		return active
	}
	return names
}
