// SPDX-License-Identifier: Apache-2.0

package netio_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/netio"
)

func TestConfigValidate(t *testing.T) {
	for _, good := range []netio.Config{
		{},
		{Mode: netio.ModeRDMA, ThreadSafety: netio.Unsafe},
		{SharedReceive: netio.SharedBuffers{Buffers: 1 << 20, BufferBytes: 1}, SharedSend: netio.SharedBuffers{Buffers: 1}},
		{SharedSend: netio.SharedBuffers{BufferBytes: -1}}, // ignored: nothing is shared
	} {
		if err := good.Validate(); err != nil {
			t.Errorf("Validate of %+v: got error %v, want none", good, err)
		}
	}
	bad := netio.Config{
		Mode:          9,
		ThreadSafety:  -1,
		SharedReceive: netio.SharedBuffers{Buffers: -1, BufferBytes: -2},
		SharedSend:    netio.SharedBuffers{Buffers: 1<<20 + 1},
	}
	err := bad.Validate()
	if !errors.Is(err, netio.ErrInvalidConfig) {
		t.Fatalf("Validate: got error %v, want %v", err, netio.ErrInvalidConfig)
	}
	for _, want := range []string{
		"Mode is 9, want 0 to 2", "ThreadSafety is -1, want 0 to 1", "SharedReceive.Buffers is -1, want 1 to 1048576",
		"SharedReceive.BufferBytes is -2, want 1 to 2147483647", "SharedSend.Buffers is 1048577, want 1 to 1048576",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Validate: got %q, want it to say %q", err, want)
		}
	}
}

func TestModesAndModelsHaveNames(t *testing.T) {
	got := []string{
		netio.ModeDefault.String(), netio.ModeTCP.String(), netio.ModeRDMA.String(), netio.Mode(7).String(),
		netio.Safe.String(), netio.Unsafe.String(), netio.ThreadSafety(-1).String(),
	}
	want := []string{"default", "TCP", "RDMA", "mode 7", "safe", "unsafe", "thread safety -1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// sharing returns a configuration that shares everything.
func sharing() netio.Config {
	return netio.Config{
		SharedReceive: netio.SharedBuffers{Buffers: 4, BufferBytes: 1000},
		SharedSend:    netio.SharedBuffers{Buffers: 4, BufferBytes: 1000},
	}
}

func TestSharedBuffersDecideTheParams(t *testing.T) {
	want := netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: 1000}}.WithDefaults()
	got, err := sharing().EndpointParams(netio.Params{})
	if err != nil {
		t.Fatalf("EndpointParams of the zero value: got error %v, want none", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("EndpointParams of the zero value (-want +got):\n%s", diff)
	}
	shared := netio.Params{Receive: netio.ReceiveParams{Buffers: 3, Shared: true}}
	if got, err := (netio.Config{}).ListenParams(shared); err != nil || !got.Receive.Shared || got.Receive.Buffers != 3 {
		t.Errorf("ListenParams of buffers to share: got %+v and error %v, want them kept", got.Receive, err)
	}
}

func TestParamsThatConflictWithTheConfigAreRefused(t *testing.T) {
	tests := []struct {
		name   string
		cfg    netio.Config
		listen bool
		params netio.Params
		want   string
	}{
		{"receive buffers beside shared ones", sharing(), true, netio.Params{Receive: netio.ReceiveParams{Buffers: 1}}, "Receive.Buffers is 1 and Receive.Shared is false"},
		{"a second kind of sharing", sharing(), true, netio.Params{Receive: netio.ReceiveParams{Buffers: 1, Shared: true}}, "Receive.Shared is true"},
		{"messages larger than a shared buffer", sharing(), false, netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: 1001}}, "Receive.MaxMessageBytes is 1001, want at most 1000"},
		{"send buffers beside shared ones", sharing(), false, netio.Params{Buffered: netio.BufferedParams{Buffers: 1}}, "Buffered is {Buffers:1"},
		{"sharing by an endpoint that is opened", netio.Config{}, false, netio.Params{Receive: netio.ReceiveParams{Buffers: 1, Shared: true}}, "Receive.Shared is true for an endpoint to be opened"},
		{"sharing of no buffers", netio.Config{}, true, netio.Params{Receive: netio.ReceiveParams{Shared: true}}, "Receive.Buffers is 0 and Receive.Shared is true"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			complete := tt.cfg.EndpointParams
			if tt.listen {
				complete = tt.cfg.ListenParams
			}
			if _, err := complete(tt.params); !errors.Is(err, netio.ErrInvalidParams) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want %v that says %q", err, netio.ErrInvalidParams, tt.want)
			}
		})
	}
	all := netio.Params{
		Receive:  netio.ReceiveParams{Buffers: 1, Shared: true, MaxMessageBytes: 1001},
		Buffered: netio.BufferedParams{Buffers: 1},
	}
	_, err := sharing().EndpointParams(all)
	if got := strings.Count(err.Error(), netio.ErrInvalidParams.Error()); got != 4 {
		t.Errorf("violations: got %d in %q, want 4", got, err)
	}
}
