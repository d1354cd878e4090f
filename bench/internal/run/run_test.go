// SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"tagbus/bench/internal/costs"
	"tagbus/bench/internal/load"
	"tagbus/bench/internal/run"
	"tagbus/bench/internal/scenario"
	"tagbus/internal/testkit"
)

// built are the programs, for all tests.
var built *run.Built

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

// buildAndRun builds into the folder of BENCH_OUT, where Go finds what it has built before: make
// bench-check, which names it, needs the same programs a second time.
func buildAndRun(m *testing.M) int {
	err := os.Chdir("../..") // sources are named from there
	folder := os.Getenv("BENCH_OUT")
	if folder == "" && err == nil {
		if folder, err = os.MkdirTemp("", "bench"); err == nil {
			defer os.RemoveAll(folder) //nolint:errcheck // nothing to do about it
		}
	}
	if err == nil {
		err = os.MkdirAll(folder, 0o755)
	}
	if err == nil {
		built, err = run.Build(context.Background(), folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// tiny measures a system in a scenario, as short as possible.
func tiny(t *testing.T, s scenario.Scenario, name string) run.Record {
	t.Helper()
	system, err := scenario.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return measure(s, system, scenario.Profile{Seconds: 0.02})
}

// measure measures a system in a scenario once.
func measure(s scenario.Scenario, system scenario.System, p scenario.Profile) run.Record {
	testkit.DependsOnTree()
	runtime.LockOSThread() // the processes end with the thread
	defer runtime.UnlockOSThread()
	r := run.Runner{Built: built, Profile: p}
	return r.Measure(s, system, 0)
}

func TestMeasure(t *testing.T) {
	throughput := scenario.Scenario{Name: "throughput", Size: 40, Metric: scenario.Messages}
	fanOut := scenario.Scenario{Name: "fan-out", Size: 40, Subscribers: 3, Tags: 7, Metric: scenario.Messages}
	inOne := scenario.Scenario{Name: "in one process", Size: 40, Connects: 20, Metric: scenario.Messages}
	stopped := scenario.Scenario{Name: "one stopped", Size: 40, Subscribers: 3, Stopped: 1, Metric: scenario.Messages}
	openLoop := scenario.Scenario{Name: "open loop", Size: 64, Work: load.WorkOpenLoop, Rate: 1000, Metric: scenario.P50}
	bursts := scenario.Scenario{Name: "bursts", Size: 64, Work: load.WorkOpenLoop, Rate: 50_000, Burst: 10, Metric: scenario.P50}
	tests := []struct {
		name     string
		scenario scenario.Scenario
		system   string
		shares   uint64 // of each message sent, received
	}{
		{"one subscriber gets all", throughput, "tagbus", 1},
		{"by reference too", throughput, "tagbus-zerocopy", 1},
		{"and from net.Conn", throughput, "gonet", 1},
		{"three subscribers get all of seven tags", fanOut, "tagbus", 3},
		{"twenty in one process get all by two loops", inOne, "tagbus-loops2", 20},
		{"those that are not stopped get all", stopped, "tagbus", 2},
		{"what is due arrives", openLoop, "tagbus-spin", 1},
		{"and what is due at once", bursts, "tagbus-flush", 1},
		{"by iteration too", throughput, "tagbus-messages", 1},
		{"through a channel too", throughput, "tagbus-channel", 1},
		{"and a page at a time", throughput, "tagbus-subscribebatch", 1},
		{"of many goroutines", throughput, "tagbus-64", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := tiny(t, test.scenario, test.system)
			if r.Error != "" || r.Lost+r.Corrupt+r.Disordered > 0 {
				t.Fatalf("got error %q, %d lost, %d corrupt, %d out of order, want none", r.Error, r.Lost, r.Corrupt, r.Disordered)
			}
			if r.Sent == 0 || r.Received != test.shares*r.Sent {
				t.Errorf("got %d received of %d sent, want %d times as many", r.Received, r.Sent, test.shares)
			}
			if value := r.Figure(test.scenario.Metric, test.scenario.Size); value <= 0 || r.Sampled == 0 || r.PublisherCPU <= 0 || r.SubscriberCPU <= 0 {
				t.Errorf("got value %v, %d sampled, processor time %v and %v, want more than 0",
					value, r.Sampled, r.PublisherCPU, r.SubscriberCPU)
			}
		})
	}
}

// TestRecordersHaveAllInTheirFiles: what is received is what is read back.
func TestRecordersHaveAllInTheirFiles(t *testing.T) {
	for _, name := range []string{"tagbus-record", "recording", "tagbus-data", "mcap", "pcapng"} {
		s, _ := scenario.Named("record/40B")
		system, err := scenario.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		r := measure(s, system, scenario.Profile{Name: "tiny", Seconds: 0.1})
		bytes := r.Extra[load.FileBytes]
		if r.Error != "" || r.Lost+r.Corrupt+r.Disordered > 0 || r.Received == 0 || r.Received != r.Sent || r.Sampled == 0 || bytes < 40 || bytes > 100 {
			t.Errorf("%s: got error %q, %d sent, %d received, %d sampled, %d corrupt, %d out of order, %v bytes each, want all in the file",
				name, r.Error, r.Sent, r.Received, r.Sampled, r.Corrupt, r.Disordered, bytes)
		}
		if r.SubscriberCPU <= 0 || r.SubscriberCPU > 60 {
			t.Errorf("%s: got %v s of processor time, want that of the recorder", name, r.SubscriberCPU)
		}
	}
}

func TestCommandsAreMeasuredBesideBulk(t *testing.T) {
	for _, name := range []string{"tagbus", "nats", "libzmq", "c-epoll+cc"} {
		t.Run(name, func(t *testing.T) {
			if system, _ := scenario.Find(name); built.Skipped[system.Program] != "" {
				t.Skipf("needs a program: %s", built.Skipped[system.Program])
			}
			s, _ := scenario.Named("mixed/250000-per-s")
			s.Rate = 10_000
			r := tiny(t, s, name)
			// 0.08 s of bulk, and a command every 10 ms.
			if r.Error != "" || r.Lost+r.Corrupt+r.Disordered > 0 || r.Sent != 808 || r.Latency.Count != 8 {
				t.Errorf("got error %q, %d lost, %d corrupt, %d out of order, %d sent, %d measured, want 808 sent of which 8 are measured",
					r.Error, r.Lost, r.Corrupt, r.Disordered, r.Sent, r.Latency.Count)
			}
		})
	}
}

func TestARateIsHalfOfWhatASystemReaches(t *testing.T) {
	s, _ := scenario.Named("mixed/half")
	r := tiny(t, s, "tagbus")
	if rate := r.Extra[run.BulkRate]; r.Error != "" || rate < 1000 || float64(r.Sent) > rate {
		t.Errorf("got error %q and a rate of %v a second, %d sent, want no error and more than 1,000", r.Error, rate, r.Sent)
	}
}

func TestAnswersReachAGoroutine(t *testing.T) {
	s, _ := scenario.Named("pingpong/64B/channel")
	for _, name := range []string{"tagbus", "nats", "gonet", "gonet-inline", "gonet-apart"} {
		r := tiny(t, s, name)
		if r.Error != "" || r.Sent == 0 || r.Corrupt > 0 || r.Latency.Count == 0 {
			t.Errorf("%s: got error %q, %d sent, %d corrupt, %d measured, want round trips", name, r.Error, r.Sent, r.Corrupt, r.Latency.Count)
		}
	}
}

func TestTheKernelSaysWhetherItCopied(t *testing.T) {
	if missing := built.Skipped["yard"]; missing != "" {
		t.Skipf("needs the yardstick in C: %s", missing)
	}
	r := tiny(t, scenario.Scenario{Name: "zero copy", Size: 64 << 10, Metric: scenario.Bytes}, "c-block-zerocopy")
	if r.Error != "" || r.Sent == 0 || r.Received != r.Sent || r.Corrupt+r.Disordered > 0 || r.Sampled == 0 {
		t.Fatalf("got %+v, want all blocks, and whole", r)
	}
	const name = "share_of_sends_that_the_kernel_copied_all_the_same"
	if share, ok := r.Extra[name]; !ok || share < 0 || share > 1 {
		t.Errorf("%s: got %v of %v, want a share", name, share, r.Extra)
	}
}

func TestProfilesAreSummed(t *testing.T) {
	s := scenario.Scenario{Name: "profiled", Size: 1 << 10, Subscribers: 2, Profiled: true, Metric: scenario.Messages}
	r := tiny(t, s, "tagbus")
	if r.Error != "" || r.Profile == nil {
		t.Fatalf("got error %q and profile %v, want a profile", r.Error, r.Profile)
	}
	for kind, ns := range r.Profile {
		if !slices.Contains(costs.Kinds, kind) || ns <= 0 {
			t.Errorf("profile: got %v ns of %q, want more than 0 of one of %q", ns, kind, costs.Kinds)
		}
	}
	pages, messages := r.Extra[load.SentPages], r.Extra[load.SentMessages]
	if pages <= 0 || messages < pages {
		t.Errorf("got %v messages in %v pages, want pages with messages", messages, pages)
	}
	if calls, counted := r.Extra[run.SendCalls]; !counted {
		t.Logf("calls of the system cannot be counted here: needs root and tracefs")
	} else if most := pages + 1000; calls < 2 || calls > most {
		t.Errorf("got %v calls of sendmsg for %v pages, want 2 to %v", calls, pages, most)
	}
}

func TestAProgramThatFailsIsReported(t *testing.T) {
	r := tiny(t, scenario.Scenario{Name: "too small", Size: 8}, "tagbus")
	if want := "size 8: want at least 24 bytes"; !strings.Contains(r.Error, want) {
		t.Errorf("error: got %q, want %q in it", r.Error, want)
	}
}

// TestTheProgramsInCAndInGoAgree has a publisher in C and a subscriber in Go: the
// same messages, the same check, the same talk with the runner.
func TestTheProgramsInCAndInGoAgree(t *testing.T) {
	if missing := built.Skipped["yard"]; missing != "" {
		t.Skipf("needs the yardstick in C: %s", missing)
	}
	pub, toPub := launch(t, "yard", "--role=pub", "--way=record", "--size=1000", "--tags=3", "--seconds=0.02")
	var at struct{ Listen string }
	pub(&at)
	sub, _ := launch(t, "gonet", "--role=sub", "--size=1000", "--tags=3", "--addr="+at.Listen)
	sub(&struct{}{})
	if _, err := io.WriteString(toPub, "go\n"); err != nil {
		t.Fatal(err)
	}
	var sent load.PubResult
	var got load.SubResult
	pub(&sent)
	sub(&got)
	if got.Received != sent.Sent || sent.Sent == 0 || got.Corrupt+got.Disordered > 0 || got.Sampled == 0 {
		t.Errorf("got %+v of %d sent, want all and whole", got, sent.Sent)
	}
}

// launch starts a program, and returns what reads its next line and what writes
// to it.
func launch(t *testing.T, program string, args ...string) (func(any), io.Writer) {
	t.Helper()
	testkit.DependsOnTree()
	command := exec.CommandContext(t.Context(), filepath.Clean(built.Path(program)), args...)
	command.Stderr = t.Output()
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = command.Wait()
	})
	lines := bufio.NewScanner(stdout)
	return func(v any) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("%s: got no line, want one: %v", program, lines.Err())
		}
		if err := json.Unmarshal(lines.Bytes(), v); err != nil {
			t.Fatalf("%s: got %q: %v", program, lines.Text(), err)
		}
	}, stdin
}
