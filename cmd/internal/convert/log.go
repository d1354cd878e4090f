// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/rec"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/sanitize"
)

// logs are what the name of a durable log begins with.
var logs = []string{"nats://", "tls://", "kafka://"}

// isLog reports whether a name is that of a durable log.
func isLog(name string) bool {
	for _, scheme := range logs {
		if strings.HasPrefix(name, scheme) {
			return true
		}
	}
	return false
}

// aLog reports whether the source is a durable log, which tagbus-bridge reads.
//
// Errors: it is one of several sources.
func (c *Command) aLog() (bool, error) {
	for _, name := range c.Files {
		if isLog(name) && len(c.Files) > 1 {
			return false, fmt.Errorf("%s is a log, and the only source then: convert it alone, and merge the recordings by tagbus rec merge", sanitize.URL(name))
		}
	}
	return isLog(c.Files[0]), nil
}

// fromLog has tagbus-bridge make the recording, and does not return if it does.
func (c *Command) fromLog(e *tool.Env) error {
	args, err := c.bridgeArgs(e)
	if err != nil {
		return &cli.UsageError{Err: err}
	}
	return &cli.UsageError{Err: cli.RunBridge(args)}
}

// bridgeArgs returns the arguments of tagbus-bridge.
//
// Errors: flags that a log has no use for.
func (c *Command) bridgeArgs(e *tool.Env) (args []string, err error) {
	switch {
	case c.format != formatNone:
		return nil, errors.New("--to: a log becomes a recording: leave it out, and convert the recording")
	case c.Tag != nil:
		return nil, errors.New("--tag is for captures: choose messages of a log by --tags")
	case c.Publisher != "":
		return nil, errors.New("--publisher: leave it out, and choose the publisher from the recording by tagbus rec cut")
	}
	args = []string{"convert", c.Files[0], "--out=" + c.Out}
	if c.Codec != none {
		args = append(args, "--codec="+c.Codec)
	}
	if !c.Tags.IsEmpty() {
		args = append(args, "--tags="+c.Tags.String())
	}
	for _, limit := range []struct {
		flag string
		when rec.When
	}{{"--from", c.From}, {"--until", c.Until}} {
		switch at, ok := limit.when.Absolute(); {
		case !ok:
			return nil, fmt.Errorf("%s: a log has no first day: want 2026-11-23 15:04:05 or RFC 3339; tagbus-bridge convert takes numbers of records, too", limit.flag)
		case !at.IsZero():
			args = append(args, limit.flag+"="+at.Format(time.RFC3339Nano))
		}
	}
	if e.JSON {
		args = append(args, "--json")
	}
	return args, nil
}
