// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package scripts_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// connectionless are the backends without connections of libfabric: over sockets,
// and through memory that processes share.
var connectionless = map[string]string{"sockets": "tcp;ofi_rxm", "memory": "shm"}

// TestScriptsWithoutConnections runs what a network can do to the commands over
// backends without connections.
func TestScriptsWithoutConnections(t *testing.T) {
	if p := os.Getenv("NETIO_RDMA_PROV"); p != "" && p != "tcp" {
		t.Skipf("this run is about %s", p)
	}
	for name, provider := range connectionless {
		t.Run(name, func(t *testing.T) {
			p := params("")
			for _, name := range shortScripts {
				if provider == "shm" && name != "file" {
					continue // only heartbeats tell there that a process has died
				}
				p.Files = append(p.Files, filepath.Join("testdata", name+".txtar"))
			}
			setup := p.Setup
			p.Setup = func(env *testscript.Env) error {
				err := setup(env)
				env.Setenv("NETIO_RDMA_PROV", provider)
				env.Setenv("BACKEND", "rdma:"+provider)
				return err
			}
			testscript.Run(t, p)
		})
	}
}
