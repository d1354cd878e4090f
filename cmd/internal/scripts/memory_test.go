// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"tagbus/internal/testkit"
)

// TestMemoryThatIsNotThereIsAnError: with the option and the size, and no stack.
func TestMemoryThatIsNotThereIsAnError(t *testing.T) {
	const limited = "ulimit -v 4000000; exec publisher "
	cases := []struct{ name, command, want string }{
		{"cache", "exec publisher --cache 1 --cache-bytes 511GiB", `--cache-bytes is 548682072064: netio: not enough memory: 548682072064 bytes asked for, `},
		{"pool", "exec publisher --pool-bytes 1024GiB", `--pool-bytes is 1099511627776: netio: not enough memory`},
		{"queue", "exec publisher --queue-bytes 1023GiB", `--queue-bytes is \d+, so --pool-bytes is \d+: netio: not enough memory`},
		{"send", "exec publisher --send --cache 1 --cache-bytes 511GiB", `--cache-bytes is 548682072064: netio: not enough memory`},
		{"cache beyond ulimit", limited + "--cache 1 --cache-bytes 5GiB", `--cache-bytes is 5368709120: netio: not enough memory: .* (the limit of the process \(ulimit -v\) leaves|this machine has, with its swap space,) \d+$`},
		{"pool beyond ulimit", limited + "--pool-bytes 5GiB", `--pool-bytes is 5368709120: netio: not enough memory`},
		{"pool of small pages beyond ulimit", limited + "--pool-bytes 2500MiB --queue-bytes 4MiB --page-bytes 256", `--pool-bytes is 2621440000: netio: not enough memory`},
		{"pool and cache beyond ulimit", limited + "--pool-bytes 1500MiB --cache 1 --cache-bytes 1500MiB", `--cache-bytes is 1572864000: beside a pool of 1572864000 bytes: netio: not enough memory`},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			if testkit.Race && strings.HasPrefix(test.command, limited) {
				t.Skip("the race detector needs more address space than any limit would leave")
			}
			cmd := exec.Command("sh", "-c", test.command+" --bus "+t.TempDir()+" --tags 1 --emulate 10 --count 1")
			cmd.Env = append(os.Environ(), "GORACE="+raceOptions)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			_ = cmd.Run() // the state tells
			text := strings.TrimSpace(stderr.String())
			code := cmd.ProcessState.ExitCode()
			if code == 0 {
				t.Skip("this machine has so much memory")
			}
			if code != 1 || strings.Contains(text, "\n") || !regexp.MustCompile("^[^ ]+ ERROR publisher: bus: "+test.want).MatchString(text) {
				t.Errorf("got exit status %d and\n%.2000s\nwant 1 and one line %s", code, text, test.want)
			}
		})
	}
}
