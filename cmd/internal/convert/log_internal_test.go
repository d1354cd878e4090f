// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"slices"
	"strings"
	"testing"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/tool/tooltest"
)

// An internal test: a hand-over ends the process.

// parse reads a command line.
// TestALogIsConvertedByTheBridge with the flags that it has use for.
func TestALogIsConvertedByTheBridge(t *testing.T) {
	c := tooltest.MustRead[Command](t, "nats://a,b/RUN --out x.tbr --codec zstd --tags 0x10-0x1f --from 2026-11-24T09:30:00.5Z --until 2026-11-24T10:30:00+01:00")
	if aLog, err := c.aLog(); !aLog || err != nil {
		t.Errorf("got %t, %v, want a log", aLog, err)
	}
	args, err := c.bridgeArgs(&tool.Env{Flags: &tool.Flags{JSON: true}})
	want := []string{
		"convert", "nats://a,b/RUN", "--out=x.tbr", "--codec=zstd", "--tags=" + c.Tags.String(), "--from=2026-11-24T09:30:00.5Z", "--until=2026-11-24T10:30:00+01:00", "--json",
	}
	if err != nil || !slices.Equal(args, want) {
		t.Errorf("got %q, %v, want %q", args, err, want)
	}
	for line, want := range map[string]string{
		"kafka://a/RUN --out x --to csv":               "--to: a log becomes a recording",
		"nats://a/RUN --out x --tag 1":                 "--tag is for captures",
		"nats://a/RUN --out x --publisher p":           "tagbus rec cut",
		"nats://a/RUN --out x --from +90s":             "--from: a log has no first day",
		"nats://a/RUN --out x --until 15:04":           "--until: a log has no first day",
		"a.tbr tls://a/RUN --out x":                    "is a log, and the only source then",
		"nats://a/RUN --out x --from 2026-11-24":       "tagbus-bridge reads durable logs, which is not beside ",
		"tls://a/RUN --out x --until 2026-11-24T09:30": "install the package tagbus-bridge",
	} {
		err := tooltest.MustRead[Command](t, line).Run(t.Context(), &tool.Env{Flags: new(tool.Flags)})
		if err == nil || !strings.Contains(err.Error(), want) || tool.Code(err) != cli.ExitUsage {
			t.Errorf("%s: got %v, want %q and status %d", line, err, want, cli.ExitUsage)
		}
	}
}
