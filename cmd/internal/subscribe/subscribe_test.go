// SPDX-License-Identifier: Apache-2.0

package subscribe_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/subscribe"
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
		{"nothing", "", "missing flags: --bus=DIR|URL, --tags=SET"},
		{"a receiver that takes more than there can be", "--bus b --tags 5 --receive --max-message-bytes 1GiB", "--max-message-bytes is 1073741824, want 16384 to 1073741823"},
		{"alone as a subscriber", "--bus b --tags 5 --exclusive", "--exclusive needs --receive: any number of subscribers may have a tag"},
		{"an unknown flag", "--bus b --tags 5 --outptu f", "unknown flag --outptu..."},
		{"a malformed tag", "--bus b --tags 5,,6", `--tags: tags: parse "5,,6" at byte 2: invalid syntax: a tag is missing`},
		{"a range the wrong way round", "--bus b --tags 6-5", `--tags: tags: parse "6-5" at byte 0: range ends before it begins`},
		{"no tags", "--bus b --tags=", "--tags: the set is empty"},
		{"announced by who dials", "--bus b --tags 5 --advertise 10.0.0.1", "--advertise and --listen-also need --receive"},
		{"everywhere announced", "--bus b --tags 5 --receive --advertise [::]:7000", "--advertise: [::]:7000 cannot be dialled; announce the addresses of this host's interfaces"},
		{"a format without output", "--bus b --tags 5 --record lines", "--record needs --output"},
		{"two uses of standard output", "--bus b --tags 5 --output - --print text", "--output and --print can't be used together"},
		{"a file and standard output", "--bus b --tags 5 --output f --print none", "--output and --print can't be used together"},
		{"a format of what is printed", "--bus b --tags 5 --print text --record lines", "--record needs --output"},
		{"a way to print of its own", "--bus b --tags 5 --print xml", `--print: got "xml", want hex, text, json or none`},
		{"a link type of no packets", "--bus b --tags 5 --output f --link-type 113", "--link-type is for --record pcap and pcapng"},
		{"a link type beyond 16 bits", "--bus b --tags 5 --output f --record pcap --link-type 65536", `--link-type: "65536" is no link type: want 0 to 65535, for example 1 (Ethernet) or 113 (Linux cooked)`},
		{"record headers of nothing", "--bus b --tags 5 --print none --no-record-header", "--no-record-header needs --output or --print"},
		{"a format of its own", "--bus b --tags 5 --output f --record fixed:x", `--record: unknown record format: "fixed:x": want fixed:N with N from 1 to 1073741824 bytes`},
		{"no count", "--bus b --tags 5 --count 0", `--count: not a quantity that is a whole number above 0: "0"`},
		{"a policy of its own", "--bus b --tags 5 --policy drop", `--policy: subscription: not a policy: "drop", want block, drop-newest, drop-oldest, latest, sample:N or disconnect:TIME`},
		{"a sample of nothing", "--bus b --tags 5 --policy sample:0", "--policy: subscription: not a policy: sample every 0 messages, want at least 1"},
		{"a backlog of nothing", "--bus b --tags 5 --backlog x", `--backlog: not a ...`},
		{"a report in the past", "--bus b --tags 5 --report=-1s", "--report: got -1s, want a positive time"},
		{"a timeout in the past", "--bus b --tags 5 --timeout=-1s", "--timeout: got -1s, want a positive time"},
		{"a time without unit", "--bus b --tags 5 --timeout 5", `--timeout: got "5", want a time with its unit, for example 5s or 5ms`},
		{"a time that is too long", "--bus b --tags 5 --timeout 9223372037s", `--timeout: got "9223372037s", want at most 2562047h0m0s`},
		{"a policy with a time that is too long", "--bus b --tags 5 --policy disconnect:9223372036s", "--policy: subscription: not a policy: disconnect after 2562047h47m16s, want 1ms to 87600h0m0s"},
		{"a long heartbeat", "--bus b --tags 5 --heartbeat 5000000000s", "--heartbeat is 1388888h53m20s, want 1ms to 1h0m0s, or 0"},
		{"a number that is no time with a unit either", "--bus b --tags 5 --timeout NaN", `--timeout: got "NaN", want a time with its unit, for example 90s or 1h30m`},
		{"no time", "--bus b --tags 5 --duration soon", `--duration: got "soon", want a time with its unit, for example 90s or 1h30m`},
		{"a duration in the past", "--bus b --tags 5 --duration=-1s", "--duration: got -1s, want a positive time"},
		{"a message limit below that of the protocol", "--bus {dir} --tags 5 --max-message-bytes 10", "--max-message-bytes is 10, want ..."},
		{"fewer old messages than none", "--bus {dir} --tags 5 --replay=-1", "--replay is -1, want 0 to 1048576"},
		{"an unknown transport", "--bus {dir} --tags 5 --backend tcp:x", `node: unknown backend: want auto, or some of shm, tcp, tls, rdma, rdma:PROVIDER and rdma:PROVIDER@DEVICE with commas between them: got "tcp:x"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			args := strings.Fields(strings.ReplaceAll(test.args, "{dir}", t.TempDir()))
			var out, errs bytes.Buffer
			code := subscribe.Main(args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
			if code != cli.ExitUsage {
				t.Errorf("got exit code %d, want %d", code, cli.ExitUsage)
			}
			got, _, _ := strings.Cut(errs.String(), "\n")
			if _, text, found := strings.Cut(got, " ERROR "); found { // it showed only when the command ran
				got = text
			}
			want, open := strings.CutSuffix("subscriber: "+test.want, "...")
			if open && !strings.HasPrefix(got, want) || !open && got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if out.Len() > 0 {
				t.Errorf("got %q on standard output, want nothing", out.String())
			}
		})
	}
}

// TestEnds runs the command on a bus without publishers until it ends by itself.
func TestEnds(t *testing.T) {
	tests := []struct {
		name, args string
		code       int
		want       []string // parts of what it says
	}{
		{"a duration is an orderly end", "--duration 20ms", cli.ExitDone, []string{"subscriber: 0 messages", "; ended by duration\n"}},
		{
			"nothing in time is a failure", "--timeout 60ms", cli.ExitFailed,
			[]string{"subscriber: no message for 60ms (--timeout): 0 received, 0 publishers connected\n", "; ended by timeout\n"},
		},
		{
			"a receiver waits for senders", "--receive --timeout 60ms", cli.ExitFailed,
			[]string{"subscriber: no message for 60ms (--timeout): 0 received, 0 senders connected\n"},
		},
		{
			"no sender has said goodbye", "--receive --until-goodbye --duration 20ms", cli.ExitFailed,
			[]string{"subscriber: no sender of the tags came, whose goodbye was to be waited for (--until-goodbye)\n"},
		},
		{
			"an output that cannot be written is a failure", "--output {dir}/missing/out", cli.ExitFailed,
			[]string{"missing/out: no such file or directory\n"},
		},
		{"an output is made even if nothing comes", "--output {dir}/out --duration 20ms", cli.ExitDone, []string{"; ended by duration\n"}},
		{"quiet says only the summary", "-q --duration 20ms", cli.ExitDone, []string{"subscriber: 0 messages"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			testkit.Must(t, os.Mkdir(dir+"/bus", 0o700))
			args := append([]string{"--bus", dir + "/bus", "--tags", "5"}, strings.Fields(strings.ReplaceAll(test.args, "{dir}", dir))...)
			var out, errs bytes.Buffer
			code := subscribe.Main(args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
			if code != test.code {
				t.Errorf("got exit code %d, want %d", code, test.code)
			}
			for _, want := range test.want {
				if !strings.Contains(errs.String(), want) {
					t.Errorf("got\n%s\nwant it to hold %q", errs.String(), want)
				}
			}
		})
	}
}
