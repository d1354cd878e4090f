// SPDX-License-Identifier: Apache-2.0

//go:build linux

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/tool/tooltest"
	"tagbus/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestUsage(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"--tags 0", "--tags: got 0, want 1 to 65532"},
		{"--tags 65533", "--tags: got 65533, want 1 to 65532"},
		{"--burst 0", "--burst: got 0, want 1 or more"},
		{"--burst 2", "--burst needs --rate"},
		{"--rounds 0", "--rounds: got 0, want 1 or more"},
		{"--round 0s", "--round: got 0s, want a positive time"},
		{"--first 0xffffffffffff0001", "--first: got 0xffffffffffff0001, want 65536 tags after it"},
		{"--child", "--child is for bench serve"},
		{"both", `[<side>] must be one of "","serve","run" but got "both"`},
	} {
		if _, err := tooltest.Read[Command](test.line); err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", test.line, err, test.want)
		}
	}
	for line, want := range map[string]bool{"": false, "serve": true, "run": true} {
		if c := tooltest.MustRead[Command](t, line); c.NeedsBus() != want {
			t.Errorf("%q needs a bus: got %v, want %v", line, c.NeedsBus(), want)
		}
	}
	tooltest.MustRead[Command](t, "--size 8MiB --first 0xffffffffffff0000 --tags 65532")
}

// made is a report of two rounds that were made up.
func made(t *testing.T, line string, json bool) (*report, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	r := newReport(tooltest.MustRead[Command](t, line), &tool.Env{Flags: &tool.Flags{JSON: json}, Streams: cli.Streams{Out: &out}}, bus.Peer{Instance: "abc", Name: "tagbus bench serve", Host: "pc"})
	testkit.Must(t, r.head())
	for n := range 2 {
		got := round{
			Round: n + 1, Messages: 1000, Bytes: 1_024_000, Seconds: 0.001 * float64(n+1), TCPSeconds: 0.0005,
			Trips: 10, TripP50: 20e-6, TripP99: 2e-3, TCPTripP50: 10e-6, TCPTripP99: 1e-3,
		}
		got.answered(answer{Messages: 1000, CPU: 0.002}, 0.001)
		testkit.Must(t, r.add(got))
	}
	return r, &out
}

func madePings(t *testing.T) *pings {
	t.Helper()
	p := newPings(tooltest.MustRead[Command](t, "").Size, nil)
	for n := range 1000 {
		record(p.allOfBus, time.Duration(n+1)*time.Microsecond)
		record(p.allOfTCP, time.Duration(n+1)*time.Nanosecond*500)
	}
	record(p.allOfBus, time.Hour) // counts as the longest
	return p
}

func TestReport(t *testing.T) {
	r, out := made(t, "--size 64-1KiB --tags 1", false)
	testkit.Must(t, errors.Join(r.end(madePings(t)), r.verdict()))
	const want = `messages of 64 B to 1.00 KiB to 1 tag, as many as go through, to tagbus bench serve@pc

ROUND       MSG/S       MB/S   TCP MB/S  RATIO   TRIP p50   TRIP p99    TCP p50  RATIO
    1   1,000,000     1024.0     2048.0   0.50    20.0 µs    2.00 ms    10.0 µs   2.00
    2     500,000      512.0     2048.0   0.25    20.0 µs    2.00 ms    10.0 µs   2.00

throughput  750 k/s, 768 MB/s: 0.38 of plain TCP, 2.05 GB/s (medians)
round trip  p50 501.2 µs, p90 901.1 µs, p99 991.2 µs, p99.9 1.00 ms, max 1m0s (1,001 messages, without load)
plain TCP   p50 250.1 µs, p90 450.0 µs, p99 495.1 µs, p99.9 499.7 µs, max 500.2 µs (1,000 messages, without load)
ratio       2.00 times the p50 of plain TCP (median)
processor   1.00 s for a million messages here, 2.00 s at the serving side
verified    2,000 messages: 0 lost, 0 missing, 0 corrupt, 0 duplicates
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestReportOfARate(t *testing.T) {
	r, out := made(t, "--rate 50k --burst 10", false)
	testkit.Must(t, r.end(madePings(t)))
	for _, want := range []string{
		"messages of 1.00 KiB to 16 tags, 50.0 k/s in bursts of 10, to tagbus bench serve@pc\n",
		"    1   1,000,000     1024.0     2048.0      -    20.0 µs    2.00 ms    10.0 µs   2.00\n",
		"throughput  750 k/s, 768 MB/s, as asked for; plain TCP 2.05 GB/s (medians)\n",
		"(1,001 messages, under this load)\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got\n%s\nwithout\n%s", out.String(), want)
		}
	}
}

// A rate that does not go through is not said to be kept.
func TestReportOfARateThatIsTooHigh(t *testing.T) {
	for rate, want := range map[string]string{
		"760k": "throughput  750 k/s, 768 MB/s, as asked for; plain TCP 2.05 GB/s (medians)\n",
		"1M":   "throughput  750 k/s, 768 MB/s, no more goes through of the 1.00 M/s that were asked for; plain TCP 2.05 GB/s (medians)\n",
	} {
		r, out := made(t, "--rate "+rate, false)
		if err := r.end(madePings(t)); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: got\n%s\nwithout\n%s", rate, out.String(), want)
		}
	}
}

func TestReportAsJSON(t *testing.T) {
	r, out := made(t, "", true)
	testkit.Must(t, r.end(madePings(t)))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	const first = `{"round":1,"messages":1000,"bytes":1024000,"seconds":0.001,"tcp_seconds":0.0005,"trips":10,"trip_p50_seconds":0.00002,"trip_p99_seconds":0.002,` +
		`"tcp_trip_p50_seconds":0.00001,"tcp_trip_p99_seconds":0.001,"run_cpu_seconds":0.001,"serve_cpu_seconds":0.002}`
	if len(lines) != 3 || lines[0] != first {
		t.Errorf("got %d lines, the first\n%s\nwant 3\n%s", len(lines), lines[0], first)
	}
	var s summary
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &s); err != nil || s.Rounds != 2 || s.Messages != 2000 || s.Peer != "abc" || s.Trips.Messages != 1001 {
		t.Errorf("got %+v and error %v, want the summary of 2 rounds", s, err)
	}
}

func TestWhatDoesNotArriveIsAFailure(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer answer
		want   string
	}{
		{"too few", answer{Messages: 997}, "of 3,000 messages: 0 lost, 3 missing, 0 corrupt, 0 duplicates"},
		{"too few, of which some were reported", answer{Messages: 997, Lost: 2}, "of 3,000 messages: 2 lost, 1 missing, 0 corrupt, 0 duplicates"},
		{"a gap", answer{Messages: 1000, Missing: 1}, "of 3,000 messages: 0 lost, 1 missing, 0 corrupt, 0 duplicates"},
		{"other bytes", answer{Messages: 1000, Corrupt: 4, Duplicates: 5}, "of 3,000 messages: 0 lost, 0 missing, 4 corrupt, 5 duplicates"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, _ := made(t, "", false)
			got := round{Messages: 1000}
			got.answered(test.answer, 0)
			testkit.Must(t, r.add(got))
			if err := r.verdict(); err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestBothSides measures between two nodes of this process.
func TestBothSides(t *testing.T) {
	flags := &tool.Flags{Bus: t.TempDir(), Backend: "tcp", JSON: true}
	var serveErr, out bytes.Buffer
	input, end := io.Pipe()
	serving := &tool.Env{Flags: flags, Streams: cli.Streams{In: input, Err: &serveErr}}
	served := make(chan error, 1)
	go func() {
		served <- errors.Join(tooltest.MustRead[Command](t, "serve --child").Run(context.Background(), serving), serving.Close())
	}()
	interrupt(t, flags)
	for _, line := range []string{
		"run --rounds 2 --round 30ms --size 8-2000 --tags 3 -q",
		"run --rounds 1 --round 30ms --rate 5k --burst 7 --size 2MiB -q",
		"run --rounds 1 --round 30ms --rate 100G --size 100KiB -q", // which fills the queue
	} {
		out.Reset()
		running := &tool.Env{Flags: flags, Streams: cli.Streams{Out: &out, Err: io.Discard}}
		if err := errors.Join(tooltest.MustRead[Command](t, line).Run(context.Background(), running), running.Close()); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		var s summary
		testkit.Must(t, json.Unmarshal([]byte(lines[len(lines)-1]), &s))
		if s.Messages == 0 || s.BytesPerSecond == 0 || s.TCPBytesPerSecond == 0 || s.Trips.Messages == 0 || s.TCPTrips.P50 == 0 || s.ServeCPU == 0 {
			t.Errorf("%s: got %+v, want all of it measured", line, s)
		}
	}
	end.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	want := regexp.MustCompile(`^\S+ INFO tagbus bench: serves on 127\.0\.0\.1:\d+, which only this host can reach \(--listen\), and plain TCP on port \d+; run tagbus bench run --bus \S+ --listen ADDR on the other host\n$`)
	if !want.MatchString(serveErr.String()) {
		t.Errorf("got %q, want one that matches %s", serveErr.String(), want)
	}
}

// interrupt runs a measurement until its first round is printed.
func interrupt(t *testing.T, flags *tool.Flags) {
	t.Helper()
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(context.Background())
	env := &tool.Env{Flags: flags, Streams: cli.Streams{Out: after(func() { cancel(stopped) }), Err: io.Discard}}
	if err := errors.Join(tooltest.MustRead[Command](t, "run --rounds 1000 --round 10ms -q").Run(ctx, env), env.Close()); !errors.Is(err, stopped) {
		t.Errorf("got %v, want %v", err, stopped)
	}
}

// A signal that comes before the other process has begun is told as one that comes later.
// TestThereIsNoTemporaryFolder, which only the environment names.
func TestThereIsNoTemporaryFolder(t *testing.T) {
	t.Setenv("TMPDIR", "/does/not/exist")
	err := tooltest.MustRead[Command](t, "").alone(t.Context(), &tool.Env{Flags: &tool.Flags{}})
	if err == nil || !strings.HasPrefix(err.Error(), "no folder for the bus: ") || !strings.HasSuffix(err.Error(), ": set TMPDIR to one that can be written, or give --bus") {
		t.Errorf("got %v, want TMPDIR named", err)
	}
}

func TestASignalBeforeTheOtherProcessBegins(t *testing.T) {
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	env := &tool.Env{Flags: &tool.Flags{Backend: "tcp"}, Streams: cli.Streams{Out: io.Discard, Err: io.Discard}}
	if err := errors.Join(tooltest.MustRead[Command](t, "-q").Run(ctx, env), env.Close()); !errors.Is(err, stopped) {
		t.Errorf("got %v, want %v", err, stopped)
	}
}

// after calls a function at each Write.
type after func()

func (a after) Write(b []byte) (int, error) {
	a()
	return len(b), nil
}

func TestOneMeasurementAtATime(t *testing.T) {
	plain, err := listenPlain(netip.MustParseAddrPort("127.0.0.1:0"))
	testkit.Must(t, err)
	defer plain.close()
	s := &server{cmd: tooltest.MustRead[Command](t, "serve"), plain: plain, lost: func() uint64 { return 7 }}
	const busy = "another measurement is going on: wait until it has ended, or for 30s"
	for n, step := range []struct {
		session, op string
		quiet       time.Duration // nothing was heard before
		want        string
	}{
		{"", helloOp, 0, busy},
		{"a", reportOp, 0, busy},
		{"a", helloOp, 0, ""},
		{"b", helloOp, 29 * time.Second, busy},
		{"a", beginOp, 0, ""},
		{"a", "dance", 0, `"dance" is no operation that this version knows`},
		{"b", helloOp, 30 * time.Second, ""},
		{"a", reportOp, 0, busy},
		{"b", endOp, 0, ""},
		{"b", reportOp, 0, busy},
		{"c", helloOp, 0, ""},
	} {
		s.heard = s.heard.Add(-step.quiet)
		got := s.answer(request{Session: step.session, ID: uint64(n), Op: step.op})
		if got.Error != step.want || got.ID != uint64(n) || got.Session != step.session || got.Lost != 0 {
			t.Errorf("step %d: got %+v, want the error %q", n, got, step.want)
		}
	}
}

func TestPlainTCPTakesNoStranger(t *testing.T) {
	s, err := listenPlain(netip.MustParseAddrPort("127.0.0.1:0"))
	testkit.Must(t, err)
	defer s.close()
	c, err := net.Dial("tcp", s.listener.Addr().String())
	testkit.Must(t, err)
	defer c.Close()
	if _, err := c.Write(append(bytes.Repeat([]byte("x"), len(s.token)), pingMode)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); err == nil {
		t.Errorf("got %d bytes, want the end of the connection", n)
	}
}

func TestWhatComesBackIsCompared(t *testing.T) {
	var sent [][]byte
	p := newPings(tooltest.MustRead[Command](t, "").Size, func(b []byte) error { sent = append(sent, bytes.Clone(b)); return nil })
	p.start(time.Now().Add(time.Hour))
	p.back(sent[0])
	p.back(sent[0]) // a message of before, or another's
	if len(sent) != 2 || p.bus.TotalCount() != 1 {
		t.Fatalf("got %d messages and %d times, want 2 and 1", len(sent), p.bus.TotalCount())
	}
	sent[1][9] ^= 1
	p.back(sent[1])
	if err := p.wait(context.Background()); !errors.Is(err, errTrip) {
		t.Errorf("got %v, want %v", err, errTrip)
	}
}
