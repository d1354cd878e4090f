// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"tagbus/netio"
	"tagbus/netio/rdma"
)

// crashes tells the process of a test to crash.
const crashes = "NETIO_RDMA_CRASH"

// load makes libfabric load all that it brings along, and use it: a library among that
// handles SIGSEGV by itself.
func load(t *testing.T) {
	s := serve(t, newWatcher(), rdma.Config{}, netio.Params{})
	s.dial(t, newWatcher(), rdma.Config{}, netio.Params{})
}

// nilPointer is not known to the compiler.
var nilPointer *int

func TestBackend_nilDereferenceIsAPanicOfGo(t *testing.T) {
	load(t)
	defer func() {
		var err runtime.Error
		if got, ok := recover().(error); !ok || !errors.As(got, &err) || !strings.Contains(err.Error(), "nil pointer dereference") {
			t.Errorf("recover: got %v, want a runtime.Error about a nil pointer", got)
		}
	}()
	*nilPointer = 1
}

// TestBackend_nilDereferenceEndsTheProcessAsOneOfGo is about one that is not recovered
// from: the process ends with the trace of the goroutine.
func TestBackend_nilDereferenceEndsTheProcessAsOneOfGo(t *testing.T) {
	if os.Getenv(crashes) != "" {
		load(t)
		done := make(chan struct{})
		go func() { // the testing package recovers from those of the test itself
			defer close(done)
			*nilPointer = 1
		}()
		<-done
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), crashes+"=1")
	out, err := child.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("end of the process: got %v, want exit status 2, Go's", err)
	}
	for _, want := range []string{"nil pointer dereference", "goroutine ", "crash_test.go"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("output of the process: got no %q in\n%s", want, out)
		}
	}
}
