// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package node_test

import (
	"testing"

	"tagbus/bus"
	"tagbus/node"
	"tagbus/tags"
)

// TestNode_NewReceiver_overRDMALocksLittle: with the default of TCP each sender would cost it
// more than a gigabyte of locked memory, and time to connect.
func TestNode_NewReceiver_overRDMALocksLittle(t *testing.T) {
	n := openNode(t, t.TempDir())
	if _, err := n.NewReceiver(bus.ReceiverConfig{Tags: tags.Of(1), Listening: bus.Listening{Listen: listen()}}, func(bus.Message) {}); err != nil {
		t.Fatal(err)
	}
	entries, problems := n.Directory().List()
	if len(entries) != 1 || problems != nil {
		t.Fatalf("directory: got %v and problems %v, want one entry", entries, problems)
	}
	if got := entries[0].MaxMessageBytes; got != node.RDMAReceiverBytes {
		t.Errorf("largest message: got %d bytes, want %d", got, node.RDMAReceiverBytes)
	}
}
