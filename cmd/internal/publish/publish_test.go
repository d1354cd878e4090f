// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/publish"
	"tagbus/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestUsage lists command lines that make no sense: status 2, one line that
// says why, and nothing started.
func TestUsage(t *testing.T) {
	tests := []struct {
		name, args string
		want       string // first line, or the beginning of it if it ends with ...
	}{
		{"nothing", "", "missing flags: --bus=DIR|URL, --input=FILE|- or --emulate=SIZE|MIN-MAX, --tags=SET"},
		{"no bus", "--tags 5 --emulate 10", "missing flags: --bus=DIR|URL"},
		{"acknowledgements of what is published", "--bus b --tags 5 --emulate 10 --ack", "--ack needs --send"},
		{"subscribers of what is sent", "--bus b --tags 5 --emulate 10 --send --wait-subscribers 1", "--wait-subscribers is for publishing: --send waits for the receiver of each message anyway"},
		{"no source", "--bus b --tags 5", "missing flags: --input=FILE|- or --emulate=SIZE|MIN-MAX"},
		{"two sources", "--bus b --tags 5 --emulate 10 --input f", "--input and --emulate can't be used together"},
		{"a rate below nothing", "--bus b --tags 5 --emulate 10 --rate -1", `--rate: got "-1", which is negative`},
		{"the same otherwise", "--bus b --tags 5 --emulate 10 --rate=-1", `--rate: not a quantity above 0: "-1"`},
		{"an unknown flag", "--bus b --tags 5 --emulate 10 --tgas 6", "unknown flag --tgas..."},
		{"a malformed tag", "--bus b --tags 12x --emulate 10", `--tags: tags: parse "12x" at byte 0: invalid syntax: want a decimal or 0x number`},
		{"a tag beyond 64 bits", "--bus b --tags 0x10000000000000000 --emulate 10", "--tags: tags: parse ..."},
		{"a field beyond its bits", "--bus b --tags 99/0/0/0/0/0/0/0/0 --emulate 10", `--tags: tags: parse "99/0/0/0/0/0/0/0/0" at byte 0: version 99 is above its limit 15`},
		{"no tags", "--bus b --tags= --emulate 10", "--tags: the set is empty"},
		{"more tags than can take turns", "--bus b --tags * --emulate 10", "--tags: round robin takes at most 1048576 tags and the set has more: name fewer, or use --map offset:N"},
		{"an input without format", "--bus b --tags 5 --input f", "--input needs --record: fixed:N, lines, length32, raw, pcap or pcapng"},
		{"a format of its own", "--bus b --tags 5 --input f --record csv", `--record: unknown record format: "csv": want fixed:N, lines, length32, pcap, pcapng or raw`},
		{"record headers of no capture", "--bus b --tags 5 --input f --record lines --no-record-header", "--no-record-header is for --record pcap and pcapng"},
		{"record headers of nothing", "--bus b --tags 5 --emulate 10 --no-record-header", "--no-record-header is for --record pcap and pcapng"},
		{"no room behind a record header", "--bus b --tags 5 --input f --record pcap --max-message-bytes 24", "--max-message-bytes: got 24 B, want more than the 24 bytes of a record header, or --no-record-header"},
		{"a format without input", "--bus b --tags 5 --emulate 10 --record lines", "--record is for --input"},
		{"standard input twice", "--bus b --tags 5 --input - --record lines --loop", "--loop needs a file: standard input cannot be read again"},
		{"an emulation twice", "--bus b --tags 5 --emulate 10 --loop", "--loop is for --input: --emulate never ends by itself"},
		{"a status beyond a byte", "--bus b --tags 5 --emulate 10 --status 256", `--status: "256" is no status: want 0 to 255, for example 3 or 0x03`},
		{"a status without a number", "--bus b --tags 5 --emulate 10 --status bad", `--status: "bad" is no status: want 0 to 255, for example 3 or 0x03`},
		{"a status below nothing", "--bus b --tags 5 --emulate 10 --status -1", `--status: got "-1", which is negative`},
		{"a rule of its own", "--bus b --tags 5 --emulate 10 --map hash", `--map: "hash" is no rule: want round-robin or offset:N`},
		{"a rule for nothing", "--bus b --tags 5 --emulate 10 --map offset:3", "--map offset:3 is for --input: emulated messages hold no tag"},
		{"a size of its own", "--bus b --tags 5 --emulate 400-40", `--emulate: not a size or range of sizes: "400-40": want the smaller size first`},
		{"a rate of nothing", "--bus b --tags 5 --emulate 10 --rate 0", `--rate: not a quantity above 0: "0"`},
		{"a policy of its own", "--bus b --tags 5 --emulate 10 --policies block,drop", `--policies: subscription: not a policy: "drop", want block, drop-newest, drop-oldest, latest, sample, disconnect`},
		{"a stamp without room", "--bus b --tags 5 --emulate 23 --stamp", "--stamp needs --emulate with messages of 24 bytes or more"},
		{"a stamp on others' records", "--bus b --tags 5 --input f --record lines --stamp", "--stamp needs --emulate with messages of 24 bytes or more"},
		{"a negative number of subscribers", "--bus b --tags 5 --emulate 10 --wait-subscribers=-1", "--wait-subscribers: got -1, want 0 or more"},
		{"an interval into the past", "--bus b --tags 5 --emulate 10 --flush-interval=-1s", "--flush-interval and --drain-timeout: want 0 or more"},
		{"no address", "--bus b --tags 5 --emulate 10 --listen 127.0.0.1:70000", `--listen: "127.0.0.1:70000" is no address: want ADDR or ADDR:PORT with a port up to 65535`},
		{"nowhere announced", "--bus b --tags 5 --emulate 10 --advertise 10.0.0.1,x:y:z", `--advertise: "x:y:z" is no address: want ADDR or ADDR:PORT, an IPv6 address before a port in brackets`},
		{"port 0 announced", "--bus b --tags 5 --emulate 10 --advertise 10.0.0.1:0", `--advertise: "10.0.0.1:0" has port 0, which cannot be dialled: want ADDR:PORT, or ADDR for the port that was bound`},
		{"everywhere announced", "--bus b --tags 5 --emulate 10 --advertise 10.0.0.1,0.0.0.0:7000", "--advertise: 0.0.0.0:7000 cannot be dialled; announce the addresses of this host's interfaces"},
		{"a sender announces nothing", "--bus b --tags 5 --emulate 10 --send --advertise 10.0.0.1", "--advertise and --listen-also are for publishing: --send announces nothing"},
		{"metrics nowhere", "--bus b --tags 5 --emulate 10 --metrics 127.0.0.1:70000", `--metrics: "127.0.0.1:70000" is no address: want ADDR or ADDR:PORT with a port up to 65535`},
		{"everything wrong at once", "--bus b --tags= --emulate 10 --loop", "--tags: the set is empty; --loop is for --input: --emulate never ends by itself"},
		{"pages too small", "--bus {dir} --tags 5 --emulate 10 --page-bytes 10", "--page-bytes is 10, want 256 to 16777216"},
		{"a queue too small", "--bus {dir} --tags 5 --emulate 10 --queue-bytes 10", "--queue-bytes is 10, want ..."},
		{"a negative cache", "--bus {dir} --tags 5 --emulate 10 --cache=-1", "--cache is -1, want 0 to 1048576"},
		{"memory for no cache", "--bus {dir} --tags 5 --emulate 10 --cache-bytes 1MiB", "--cache-bytes is 1048576, but nothing is kept: set --cache"},
		{"messages larger than memory", "--bus {dir} --tags 5 --input f --record lines --max-message-bytes 4000000000GiB", "--max-message-bytes is 4294967296000000000, want 1 to ..."},
		{"messages larger than the wire takes", "--bus {dir} --tags 5 --input f --record length32 --max-message-bytes 1000GiB", "--max-message-bytes is 1073741824000, want 1 to ..."},
		{"a life too long", "--bus {dir} --tags 5 --emulate 10 --expiry 100000h", "--expiry is 100000h0m0s, want 1s to 87600h0m0s"},
		{"a heartbeat too quick", "--bus {dir} --tags 5 --emulate 10 --heartbeat 10us", "--heartbeat is 10µs, want 1ms to 1h0m0s, or 0"},
		{"no time for a second beat", "--bus {dir} --tags 5 --emulate 10 --heartbeat 3s --heartbeat-timeout 4s", "--heartbeat-timeout is 4s, want at least twice --heartbeat, 6s, or 0"},
		{"patience too short", "--bus {dir} --tags 5 --emulate 10 --max-stall=-1s", "--max-stall is -1s, want 1ms to 87600h0m0s, or 0 for ever"},
		{"an unknown transport", "--bus {dir} --tags 5 --emulate 10 --backend pigeon", `node: unknown backend: want auto, or some of shm, tcp, tls, rdma, rdma:PROVIDER and rdma:PROVIDER@DEVICE with commas between them: got "pigeon"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			args := strings.Fields(strings.ReplaceAll(test.args, "{dir}", t.TempDir()))
			var out, errs bytes.Buffer
			code := publish.Main(args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
			if code != cli.ExitUsage {
				t.Errorf("got exit code %d, want %d", code, cli.ExitUsage)
			}
			got, _, _ := strings.Cut(errs.String(), "\n")
			if _, text, found := strings.Cut(got, " ERROR "); found { // it showed only when the command ran
				got = text
			}
			want, open := strings.CutSuffix("publisher: "+test.want, "...")
			if open && !strings.HasPrefix(got, want) || !open && got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if out.Len() > 0 {
				t.Errorf("got %q on standard output, want nothing", out.String())
			}
		})
	}
}

// What was asked for and is not begun when the time is over is missing, as what is not finished.
func TestADurationThatIsOverBeforeTheInputIsOpen(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	const unopened = " published nothing in 1ms (--duration): its input FIFO was not open by then: a pipe opens when its writer does, and a capture with its header\n"
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"--count 5", cli.ExitFailed, unopened},
		{"--wait-subscribers 1", cli.ExitFailed, unopened},
		{"--send --count 5", cli.ExitFailed, " sent nothing in 1ms "},
		{"", cli.ExitDone, " ended by duration\n"},
	} {
		args := strings.Fields("--bus " + filepath.Join(t.TempDir(), "bus") + " --tags 5 --record lines --duration 1ms --input " + fifo + " " + test.args)
		var out, errs bytes.Buffer
		code := publish.Main(args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		if got := strings.ReplaceAll(errs.String(), fifo, "FIFO"); code != test.code || !strings.Contains(got, test.want) {
			t.Errorf("%q: got exit code %d and\n%swant %d and %q", test.args, code, got, test.code, test.want)
		}
	}
	testkit.ReleaseFIFO(t, fifo) // for those that still wait for it
}

func FuzzMapping(f *testing.F) {
	for _, text := range []string{"round-robin", "offset:0", "offset:16", "offset:-1", "offset:99999999999", "offset:"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var a, b publish.Mapping
		if err := a.UnmarshalText([]byte(text)); err != nil {
			return
		}
		if err := b.UnmarshalText([]byte(a.String())); err != nil || a != b {
			t.Errorf("%q: got %v, %v after printing %v, want the same", text, b, err, a)
		}
	})
}

// The file that the documentation shows is one.
func TestTheFileOfTheDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference.md")
	testkit.Must(t, err)
	_, rest, found := strings.Cut(string(page), "```toml\n")
	text, _, ended := strings.Cut(rest, "```\n")
	if !found || !ended {
		t.Fatal("got no file in docs/reference.md, want one")
	}
	file := filepath.Join(t.TempDir(), "publisher.toml")
	testkit.Must(t, os.WriteFile(file, []byte(text), 0o600))
	var out bytes.Buffer
	var flags publish.Flags
	if _, run := cli.Parse(cli.Program{Name: "publisher"}, &flags, []string{"--config", file}, cli.Streams{Out: &out, Err: &out}); !run {
		t.Fatalf("got %s, want a file that makes sense", out.String())
	}
	if n, _ := flags.Tags.Count(); n != 17 || len(flags.Advertise) != 2 || flags.PoolBytes != 256<<20 || !flags.Quiet {
		t.Errorf("got %+v, want what the file says", flags)
	}
}
