// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"errors"
	"testing"

	"tagbus/netio/rdma/internal/fi"
)

func TestOpener_nothingForTheProviderIsNoDevice(t *testing.T) {
	if err := noDevice(fi.ENODATA, "verbs", "10.0.0.1"); !errors.Is(err, ErrNoDevice) {
		t.Errorf("got error %v, want ErrNoDevice", err)
	}
	if err := noDevice(fi.ENOMEM, "verbs", "10.0.0.1"); errors.Is(err, ErrNoDevice) || !errors.Is(err, fi.ENOMEM) {
		t.Errorf("got error %v, want %v", err, fi.ENOMEM)
	}
}

func TestBackend_iWARPSharesNoReceiveBuffers(t *testing.T) {
	if _, err := newSharedReceive(&device{iwarp: true}, nil, 1, 1); !errors.Is(err, ErrSharedOnIWARP) {
		t.Errorf("got error %v, want ErrSharedOnIWARP", err)
	}
}
