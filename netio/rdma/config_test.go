// SPDX-License-Identifier: Apache-2.0

package rdma_test

import (
	"errors"
	"strings"
	"testing"

	"tagbus/netio"
	"tagbus/netio/rdma"
)

func TestConfig_Validate_reportsAllThatIsWrong(t *testing.T) {
	tests := []struct {
		name   string
		cfg    rdma.Config
		fields []string // nil: nothing is wrong
	}{
		{"the zero value is fine", rdma.Config{}, nil},
		{"sockets for mode TCP", rdma.Config{Config: netio.Config{Mode: netio.ModeTCP}}, nil},
		{"a provider that goes with the mode", rdma.Config{Config: netio.Config{Mode: netio.ModeTCP}, Provider: rdma.ProviderNet}, nil},
		{"a provider without connections", rdma.Config{Provider: "tcp;ofi_rxm"}, nil},
		{"a provider that there is not", rdma.Config{Provider: "tcp rxm"}, []string{`"tcp rxm"`, "verbs", "efa"}},
		{"verbs with mode TCP", rdma.Config{Config: netio.Config{Mode: netio.ModeTCP}, Provider: rdma.ProviderVerbs}, []string{"Provider is verbs"}},
		{"a device by its name", rdma.Config{Device: "mlx5_10"}, nil},
		{"a device by its address", rdma.Config{Device: "fe80::1%ib0"}, nil},
		{"a device with a comma", rdma.Config{Device: "mlx5_0,mlx5_1"}, []string{`Device is "mlx5_0,mlx5_1"`, "64 bytes"}},
		{"a device with a sign", rdma.Config{Device: "a=b"}, []string{`Device is "a=b"`}},
		{"a device with a line", rdma.Config{Device: "a\nb"}, []string{`Device is "a\nb"`}},
		{"a device with a long name", rdma.Config{Device: strings.Repeat("x", 65)}, []string{"Device is"}},
		{
			"all at once",
			rdma.Config{Config: netio.Config{Mode: -1}, Provider: "\n", ReceiveBuffers: -1, MaxEndpoints: 1 << 30},
			[]string{"Mode", "Provider", "ReceiveBuffers", "MaxEndpoints"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.cfg.Validate()
			if errors.Is(err, netio.ErrInvalidConfig) != (tt.fields != nil) {
				t.Fatalf("Validate: got %v, want an error: %t", err, tt.fields != nil)
			}
			for _, field := range tt.fields {
				if !strings.Contains(err.Error(), field) {
					t.Errorf("Validate: got %v, want one that names %s", err, field)
				}
			}
		})
	}
}
