// SPDX-License-Identifier: Apache-2.0

package bindings_test

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/clib"
)

// inTransport returns the examples of all languages for a transport that takes builds of its own.
//
//   - core: the file of the core, for the libraries.
//   - place, dir, how: as for golang.
func inTransport(t *testing.T, core, place, dir string, how ...string) []language {
	t.Helper()
	all := languages(t)
	all[0] = golang(t, place, dir, how...)
	for i := range all {
		all[i].env = append(all[i].env, "TAGBUS_CORE="+core)
	}
	return all
}

// allPairs has each language talk to each, one pair after another.
func allPairs(t *testing.T, all []language, options string, bus func(t *testing.T, pair string) string) {
	t.Helper()
	for _, first := range all {
		for _, second := range all {
			pair := first.name + "-" + second.name
			t.Run(pair, func(t *testing.T) { converse(t, first, second, bus(t, pair), options, 0) })
		}
	}
}

// makeCore builds the libraries with a core of another kind, and returns their folder.
//
//   - flags: of the go command.
//   - args: of scripts/lib.sh.
func makeCore(t *testing.T, flags []string, args ...string) (dir string) {
	t.Helper()
	clib.Compiler(t, "gcc")
	root := clib.Root(t)
	dir = filepath.Join(root, "bin", "lib-"+t.Name())
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "scripts", "lib.sh"), args...)
	cmd.Env = clib.Environ(dir, flags...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("scripts/lib.sh: %v\n%s", err, out)
	}
	return dir
}

// TestExamples_etcd is TestExamples over a directory on a server. The examples in Go are built with an import
// more, in the module that has etcd.
func TestExamples_etcd(t *testing.T) {
	if !testkit.All() {
		t.Skip("without TAGBUS_TESTS=all")
	}
	root := clib.Root(t)
	core := filepath.Join(makeCore(t, nil, "etcd"), "libtagbus-core-etcd.so")
	extra, replaced := filepath.Join(t.TempDir(), "etcd.go"), map[string]string{}
	write(t, extra, []byte("package main\n\nimport _ \"tagbus/directory/etcd\"\n"))
	how := []string{"-overlay", filepath.Join(t.TempDir(), "overlay.json")}
	for _, example := range examples {
		replaced[filepath.Join(root, "bindings", "go", "examples", example, "etcd.go")] = extra
		how = append(how, "tagbus/bindings/go/examples/"+example)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	write(t, how[1], overlay)
	module := filepath.Join(root, "directory", "etcd")
	all := inTransport(t, core, "examples-etcd", module, how...)
	server := startDirectory(t, module)
	allPairs(t, all, "", func(_ *testing.T, pair string) string { return "etcd://" + server + "/" + pair })
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// startDirectory starts a member of a directory alone, and returns its address. A member takes two ports
// in a row; another program may be faster.
func startDirectory(t *testing.T, module string) (address string) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "tagbus-directory")
	if out, err := exec.CommandContext(t.Context(), "go", "-C", module, "build", "-buildvcs=false", "-o", program, "./cmd/tagbus-directory").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for range 20 {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it does not wait
		if err != nil {
			t.Fatal(err)
		}
		address = l.Addr().String()
		_ = l.Close()
		member := exec.CommandContext(t.Context(), program, "--data", t.TempDir(), "--listen", address)
		if err := member.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { defer close(ended); _ = member.Wait() }()
		t.Cleanup(func() { _ = member.Process.Kill(); <-ended })
		if answers(t, program, address, ended) {
			return address
		}
	}
	t.Fatal("no member of a directory finds two ports")
	return ""
}

// answers waits until a member answers, or ends.
func answers(t *testing.T, program, address string, ended <-chan struct{}) bool {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < 2*time.Minute; {
		if exec.CommandContext(t.Context(), program, "status", "--at", address).Run() == nil {
			return true
		}
		select {
		case <-ended:
			return false
		default:
		}
	}
	t.Fatal("the member of the directory does not answer")
	return false
}

// TestExamples_rdma is TestExamples over the RDMA backend, with libfabric's provider for sockets.
func TestExamples_rdma(t *testing.T) {
	if !testkit.All() {
		t.Skip("without TAGBUS_TESTS=all")
	}
	if err := exec.CommandContext(t.Context(), "pkg-config", "--exists", "libfabric").Run(); err != nil {
		t.Skip("needs libfabric (Debian: libfabric-dev pkg-config)")
	}
	const tags = "libfabric,netgo,osusergo"
	t.Setenv("CGO_ENABLED", "1")
	t.Setenv("FI_OFI_RXM_BUFFER_SIZE", "4096") // as scripts/test.sh
	core := filepath.Join(makeCore(t, []string{"-tags=" + tags}), "libtagbus-core.so")
	all := inTransport(t, core, "examples-rdma", "", "-tags", tags, "./go/examples/...")
	allPairs(t, all, "--backend rdma:tcp", func(t *testing.T, _ string) string { return folder(t) })
}
