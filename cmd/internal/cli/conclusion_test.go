// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tagbus/cmd/internal/cli"
)

// total is the summary of a command.
type total struct {
	Messages int `json:"messages"`
	cli.Conclusion
}

func (s total) String() string { return fmt.Sprintf("%d messages", s.Messages) }

// TestReport: a run is reported as a line or as an object, with its status and why it failed.
func TestReport(t *testing.T) {
	failure := errors.New("the disk is full")
	for _, test := range []struct {
		name       string
		err        error
		json       bool
		code       int
		data, says string // what is written there
	}{
		{"a line", nil, false, cli.ExitDone, "", "7 messages"},
		{"a line of a failure", failure, false, cli.ExitFailed, "", "ERROR test: the disk is full"},
		{"an object", nil, true, cli.ExitDone, `{"messages":7,"exit":0}` + "\n", ""},
		{"an object of a failure", failure, true, cli.ExitFailed, `{"messages":7,"exit":1,"error":"the disk is full"}` + "\n", "ERROR test: the disk is full"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out, data strings.Builder
			c := cli.NewConsole("test", &out, cli.Log{})
			sum := total{Messages: 7, Conclusion: cli.Conclusion{}}
			c.Failed(&sum, cli.Code(test.err), test.err)
			if code := c.Report(&sum, test.json, &data); code != test.code {
				t.Errorf("got status %d, want %d", code, test.code)
			}
			if data.String() != test.data || !strings.Contains(out.String(), test.says) {
				t.Errorf("got %q and %q, want %q and %q", data.String(), out.String(), test.data, test.says)
			}
		})
	}
}
