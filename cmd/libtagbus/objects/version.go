// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"slices"

	"tagbus/bus/directory"
	"tagbus/internal/build"
)

// Version returns the version of the library.
func Version() string {
	version, _ := build.Version()
	return version
}

// HasEtcd reports whether this core knows directories on etcd.
func HasEtcd() bool { return slices.Contains(directory.Schemes(), "etcd") }
