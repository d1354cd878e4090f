// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package rows has the faults.
package rows

import (
	"slices"

	"tagbus/test/faults/internal/table"
)

// All returns all rows, in the order in which they are shown.
func All() []table.Row {
	return slices.Concat(processes, networks, strangers, hosts, directories, certificates, sharedMemory, programs)
}

// Sets of directories and transports.
var (
	both    = []string{table.File, table.Etcd}
	network = []string{table.TCP, table.TLS}
	all     = []string{table.TCP, table.TLS, table.SHM}
)
