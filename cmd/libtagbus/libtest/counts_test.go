// SPDX-License-Identifier: Apache-2.0

package libtest_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/node"
	"tagbus/tags"
)

// TestCounts: a program in C gets from a publisher in Go what it is to get, by each way of receiving and
// with policies, and knows how many it has lost. What it publishes comes whole.
func TestCounts(t *testing.T) {
	program := peer(t)
	for _, test := range []struct{ way, options string }{
		{"pull", "--policy block"},
		{"thread", "--policy block"},
		{"loop", "--policy block"},
		{"pull", "--policy drop-oldest"},
		{"thread", "--policy drop-newest"},
		{"pull", "--policy sample:10"},
	} {
		t.Run(test.way+" "+test.options, func(t *testing.T) {
			t.Parallel()
			const n = 100_000
			folder := filepath.Join(t.TempDir(), "bus")
			p := openGo(t, folder)
			var out bytes.Buffer
			cmd := exec.CommandContext(t.Context(), program, test.way, folder, strconv.Itoa(n), test.options)
			cmd.Stdout, cmd.Stderr = &out, &out
			testkit.Must(t, cmd.Start())
			testkit.Must(t, p.WaitSubscribers(t.Context(), 1, p.Tags()))
			for i := range uint64(n) {
				testkit.Must(t, p.PublishContext(t.Context(), 5, binary.LittleEndian.AppendUint64(make([]byte, 0, 8), i+1)))
			}
			if err := p.Drain(t.Context()); err != nil {
				t.Error(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			var got, lost, disordered uint64
			if _, err := fmt.Sscan(testkit.Said(out.Bytes()), &got, &lost, &disordered); err != nil {
				t.Fatalf("%v\n%s", err, &out)
			}
			if got+lost != n || disordered > 0 || strings.Contains(test.options, "block") && lost > 0 {
				t.Errorf("got %d messages and %d lost of %d, %d out of order", got, lost, n, disordered)
			}
		})
	}
	t.Run("publish, and a kill", func(t *testing.T) {
		folder := filepath.Join(t.TempDir(), "bus")
		n, err := node.Open(node.Config{Bus: folder})
		testkit.Must(t, err)
		defer n.Close()
		var got, lost, vanished, goodbyes atomic.Uint64
		ended := make(chan struct{}, 10)
		s, err := n.NewSubscriber(bus.SubscriberConfig{Common: bus.Common{OnEvent: func(e bus.Event) {
			switch e.Kind {
			case bus.Gap:
				lost.Add(e.Count)
			case bus.Vanished:
				vanished.Add(1)
				ended <- struct{}{}
			case bus.Goodbye:
				goodbyes.Add(1)
				ended <- struct{}{}
			default:
			}
		}}})
		testkit.Must(t, err)
		first := make(chan struct{})
		if _, err := s.Subscribe(tags.Of(5), func(bus.Message) {
			if got.Add(1) == 1 {
				close(first)
			}
		}); err != nil {
			t.Fatal(err)
		}
		killed := exec.CommandContext(t.Context(), program, "publish", folder, "1000000000", "")
		testkit.Must(t, killed.Start())
		<-first
		testkit.Must(t, killed.Process.Kill())
		var exit *exec.ExitError
		if err := killed.Wait(); !errors.As(err, &exit) {
			t.Errorf("got %v", err)
		}
		<-ended
		before := got.Load()
		if out, err := exec.CommandContext(t.Context(), program, "publish", folder, "50000", "").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		<-ended
		if got.Load()-before != 50_000 || lost.Load() != 0 || vanished.Load() != 1 || goodbyes.Load() != 1 {
			t.Errorf("got %d of 50000, lost %d, vanished %d, goodbyes %d", got.Load()-before, lost.Load(), vanished.Load(), goodbyes.Load())
		}
	})
}

func openGo(t *testing.T, folder string) *bus.Publisher {
	t.Helper()
	n, err := node.Open(node.Config{Bus: folder})
	testkit.Must(t, err)
	t.Cleanup(func() { _ = n.Close() })
	p, err := n.NewPublisher(bus.PublisherConfig{Tags: tags.Of(5)})
	testkit.Must(t, err)
	return p
}
