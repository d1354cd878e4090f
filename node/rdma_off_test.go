// SPDX-License-Identifier: Apache-2.0

//go:build !libfabric || !cgo

package node_test

import (
	"errors"
	"strings"
	"testing"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/node"
)

func TestOpen_rdmaNeedsItsBuildTag(t *testing.T) {
	n, err := node.Open(node.Config{Bus: t.TempDir(), Backend: "rdma:verbs"})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	_, err = n.NewSubscriber(bus.SubscriberConfig{})
	if !errors.Is(err, netio.ErrNotBuiltIn) || !strings.Contains(err.Error(), "-tags libfabric") {
		t.Errorf("got %v, want ErrNotBuiltIn and what to do", err)
	}
}
