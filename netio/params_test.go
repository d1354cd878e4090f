// SPDX-License-Identifier: Apache-2.0

package netio_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/netio"
)

func TestParamsWithDefaults(t *testing.T) {
	tests := []struct {
		name     string
		in, want netio.Params
	}{
		{"the zero value gets every default", netio.Params{}, netio.Params{
			Receive:        netio.ReceiveParams{MaxMessageBytes: 1 << 20, FirstMessageBytes: 1 << 20},
			Buffered:       netio.BufferedParams{BufferBytes: 64 << 10},
			ZeroCopy:       netio.ZeroCopyParams{Outstanding: 64},
			ConnectTimeout: 5 * time.Second,
		}},
		{"the first message follows the others", netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: 77}}, netio.Params{
			Receive:        netio.ReceiveParams{MaxMessageBytes: 77, FirstMessageBytes: 77},
			Buffered:       netio.BufferedParams{BufferBytes: 64 << 10},
			ZeroCopy:       netio.ZeroCopyParams{Outstanding: 64},
			ConnectTimeout: 5 * time.Second,
		}},
		{"what is set stays", full(), full()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.in.WithDefaults()); diff != "" {
				t.Errorf("WithDefaults (-want +got):\n%s", diff)
			}
			if err := tt.in.Validate(); err != nil {
				t.Errorf("Validate: got error %v, want none", err)
			}
		})
	}
}

// full returns Params without a zero field, at their limits.
func full() netio.Params {
	return netio.Params{
		Receive:        netio.ReceiveParams{MaxMessageBytes: math.MaxInt32, Buffers: 1 << 16, Shared: true, FirstMessageBytes: 1},
		Buffered:       netio.BufferedParams{Buffers: 1 << 16, BufferBytes: math.MaxInt32},
		ZeroCopy:       netio.ZeroCopyParams{Outstanding: 1 << 16, Region: []byte("memory")},
		Context:        "context",
		ConnectTimeout: time.Millisecond,
	}
}

func TestParamsValidateNamesFieldValueAndLimit(t *testing.T) {
	large := int64(1 << 31) // negative where an int has 32 bits
	tests := []struct {
		name   string
		change func(p *netio.Params)
		want   string
	}{
		{"a negative message size", func(p *netio.Params) { p.Receive.MaxMessageBytes = -1 }, "Receive.MaxMessageBytes is -1, want 1 to 2147483647"},
		{"a message size over the limit", func(p *netio.Params) { p.Receive.MaxMessageBytes = int(large) }, fmt.Sprintf("Receive.MaxMessageBytes is %d, want 1 to 2147483647", int(large))},
		{"a first message over the others", func(p *netio.Params) {
			p.Receive = netio.ReceiveParams{MaxMessageBytes: 100, FirstMessageBytes: 101}
		}, "Receive.FirstMessageBytes is 101, want 1 to 100"},
		{"a negative number of buffers", func(p *netio.Params) { p.Buffered.Buffers = -2 }, "Buffered.Buffers is -2, want 0 to 65536"},
		{"too many buffers", func(p *netio.Params) { p.Buffered.Buffers = 65537 }, "Buffered.Buffers is 65537, want 0 to 65536"},
		{"a negative buffer size", func(p *netio.Params) { p.Buffered.BufferBytes = -1 }, "Buffered.BufferBytes is -1, want 1 to 2147483647"},
		{"too many sends", func(p *netio.Params) { p.ZeroCopy.Outstanding = 65537 }, "ZeroCopy.Outstanding is 65537, want 1 to 65536"},
		{"a negative number of sends", func(p *netio.Params) { p.ZeroCopy.Outstanding = -1 }, "ZeroCopy.Outstanding is -1, want 1 to 65536"},
		{"a timeout too short to connect", func(p *netio.Params) { p.ConnectTimeout = time.Microsecond }, "ConnectTimeout is 1µs, want 1ms to 87600h0m0s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := full()
			tt.change(&p)
			err := p.Validate()
			if !errors.Is(err, netio.ErrInvalidParams) {
				t.Fatalf("Validate: got error %v, want %v", err, netio.ErrInvalidParams)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Validate: got %q, want it to say %q", err, tt.want)
			}
		})
	}
}

func TestParamsValidateReportsAllViolations(t *testing.T) {
	p := netio.Params{
		Receive:        netio.ReceiveParams{MaxMessageBytes: -1, FirstMessageBytes: -1, Buffers: -1},
		Buffered:       netio.BufferedParams{Buffers: -1, BufferBytes: -1},
		ZeroCopy:       netio.ZeroCopyParams{Outstanding: -1},
		ConnectTimeout: -1,
	}
	got := strings.Count(p.Validate().Error(), netio.ErrInvalidParams.Error())
	if got != 7 {
		t.Errorf("violations: got %d in %q, want 7", got, p.Validate())
	}
}
