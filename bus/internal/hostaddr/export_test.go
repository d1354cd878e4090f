// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostaddr

// Notices is what tells a Watcher of changes.
type Notices = notices

// NewWatcher returns a Watcher of another system.
func NewWatcher(list func() ([]Address, error), listen func() (Notices, error)) *Watcher {
	return &Watcher{list: list, listen: listen}
}

// What the ways to list the addresses of this host return.
var (
	List          = list
	ListOtherwise = listWithoutNetlink
	ParseInet6    = parseInet6
)
