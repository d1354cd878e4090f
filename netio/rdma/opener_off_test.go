// SPDX-License-Identifier: Apache-2.0

//go:build !libfabric || !cgo

package rdma_test

import (
	"errors"
	"strings"
	"testing"

	"tagbus/netio"
	"tagbus/netio/rdma"
)

func TestOpener_saysWhatToInstall(t *testing.T) {
	tests := []struct{ provider, want string }{
		{"", "rdma:verbs: install libfabric-dev"},
		{"tcp", "rdma:tcp: install libfabric-dev"},
	}
	for _, test := range tests {
		_, err := rdma.Opener(nil, rdma.Config{Provider: test.provider})(netio.NopHandler{})
		if !errors.Is(err, netio.ErrNotBuiltIn) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("provider %q: got %v, want ErrNotBuiltIn with %q", test.provider, err, test.want)
		}
	}
}
