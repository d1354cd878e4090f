// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"encoding/hex"
	"testing"

	"tagbus/netio/rdma"
)

func TestEndpoint_greeting(t *testing.T) {
	tests := []struct {
		name string
		hex  string
		want rdma.Greeting // zero: it is none
	}{
		{"as documented", "74627202" + "00001000" + "64000000" + "10000000" + "08000000", rdma.Greeting{1 << 20, 100, 16, 8}},
		{"zeros behind", "74627202" + "00001000" + "64000000" + "10000000" + "08000000" + "0000000000", rdma.Greeting{1 << 20, 100, 16, 8}},
		{"nothing", "", rdma.Greeting{}},
		{"cut short", "74627202" + "00001000" + "64000000" + "10000000" + "080000", rdma.Greeting{}},
		{"another version", "74627203" + "00001000" + "64000000" + "10000000" + "08000000", rdma.Greeting{}},
		{"no message fits", "74627202" + "00000000" + "64000000" + "10000000" + "08000000", rdma.Greeting{}},
		{"no first message fits", "74627202" + "00001000" + "00000000" + "10000000" + "08000000", rdma.Greeting{}},
		{"no window", "74627202" + "00001000" + "64000000" + "00000000" + "00000000", rdma.Greeting{}},
		{"credits that never come", "74627202" + "00001000" + "64000000" + "10000000" + "11000000", rdma.Greeting{}},
		{"a quarter", "74627202" + "00001000" + "64000000" + "11000000" + "05000000", rdma.Greeting{1 << 20, 100, 17, 5}},
		{"less than a quarter", "74627202" + "00001000" + "64000000" + "11000000" + "04000000", rdma.Greeting{}},
		{"empty messages for nothing", "74627202" + "00001000" + "64000000" + "10000000" + "00000000", rdma.Greeting{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := hex.DecodeString(tt.hex)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := rdma.ParseGreeting(b)
			if ok != (tt.want != rdma.Greeting{}) || ok && got != tt.want {
				t.Errorf("ParseGreeting: got %v and %t, want %v", got, ok, tt.want)
			}
			if ok && hex.EncodeToString(rdma.MarshalGreeting(got)) != tt.hex[:40] {
				t.Errorf("MarshalGreeting: got %x, want %s", rdma.MarshalGreeting(got), tt.hex[:40])
			}
		})
	}
}

func FuzzGreeting(f *testing.F) {
	f.Add(rdma.MarshalGreeting(rdma.Greeting{1 << 20, 100, 16, 8}))
	f.Add([]byte("GET / HTTP/1.1\r\nHost: a"))
	f.Fuzz(func(t *testing.T, b []byte) {
		g, ok := rdma.ParseGreeting(b)
		if !ok {
			return
		}
		if again, ok := rdma.ParseGreeting(rdma.MarshalGreeting(g)); !ok || again != g {
			t.Errorf("greeting %x: got %v, and %v when it was written and read again", b, g, again)
		}
	})
}
