// SPDX-License-Identifier: Apache-2.0

package netio_test

import (
	"testing"

	"tagbus/netio"
)

// The name of a backend has its kind and its device.
func TestTheKindOfABackend(t *testing.T) {
	for _, test := range []struct{ kind, device, name string }{
		{"tcp", "", "tcp"},
		{"rdma:verbs", "mlx5_0", "rdma:verbs@mlx5_0"},
		{"rdma:net/rdm", "fe80::1%eth0", "rdma:net/rdm@fe80::1%eth0"},
	} {
		if got := netio.WithDevice(test.kind, test.device); got != test.name {
			t.Errorf("WithDevice of %s and %q: got %s, want %s", test.kind, test.device, got, test.name)
		}
		if got := netio.Kind(test.name); got != test.kind {
			t.Errorf("Kind of %s: got %s, want %s", test.name, got, test.kind)
		}
	}
}
