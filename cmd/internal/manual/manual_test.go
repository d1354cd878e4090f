// SPDX-License-Identifier: Apache-2.0

package manual_test

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"tagbus/cmd/internal/manual"
	"tagbus/internal/testkit"
)

// flags has a flag of each form.
type flags struct {
	Bus     string `required:"" placeholder:"DIR" help:"Where to look. Made if it is missing; may be C:\\bus."`
	Input   string `required:"" xor:"source" placeholder:"FILE|-" group:"What to do" help:"Read a file."`
	Emulate int    `required:"" xor:"source" placeholder:"SIZE" group:"What to do" help:"'Read' nothing. .5 is no size."`
	Name    string `placeholder:"TEXT" env:"TAGBUS_NAME" help:"Say \"who\"."`
	Quiet   bool   `short:"q" help:"Say nothing."`
	Secret  bool   `hidden:"" help:"Not shown."`
}

const want = `.TH TOOL 1 2026-11-23 "tagbus v0.1.0\-rc1" "tagbus"
.SH NAME
tool \- move messages
.SH SYNOPSIS
.B tool
.BI "\-\-bus " "DIR"
.BI "\-\-input " "FILE|\-"
|
.BI "\-\-emulate " "SIZE"
.RI [ flags ]
.SH DESCRIPTION
Move messages: here and there.
.PP
Ends with status 0.
Or not.
.SH OPTIONS
.TP
.B "\-h, \-\-help"
Show context\-sensitive help.
.TP
.BI "\-\-bus " "DIR"
Where to look.
Made if it is missing; may be C:\ebus.
.TP
.BI "\-\-name " "TEXT"
Say \(dqwho\(dq.
Read from TAGBUS_NAME if it is not given.
.TP
.B "\-q, \-\-quiet"
Say nothing.
.SS What to do
.TP
.BI "\-\-input " "FILE|\-"
Read a file.
.TP
.BI "\-\-emulate " "SIZE"
\&'Read' nothing.
\&.5 is no size.
.SH SEE ALSO
.BR other (1),
.BR third (1)
`

func TestAPageHasWhatTheFlagsSay(t *testing.T) {
	parser, err := kong.New(new(flags), kong.Name("tool"),
		kong.Description("Move messages: here and there.\n\nEnds with status 0. Or not."))
	testkit.Must(t, err)
	var b strings.Builder
	release := manual.Release{Version: "v0.1.0-rc1", Date: "2026-11-23"}
	testkit.Must(t, manual.Write(&b, parser.Model, release, "other", "third"))
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("want (-) and got (+) differ:\n%s", diff)
	}
}

// tool is a program with commands.
type tool struct {
	Bus string `placeholder:"DIR" help:"Where to look."`

	List struct {
		Of   string `arg:"" optional:"" help:"Only these."`
		Head int    `placeholder:"N" help:"The first N. No more."`
	} `cmd:"" name:"ls" aliases:"dir" help:"List who is there. All of them."`
	Other struct {
		Args []string `arg:"" optional:""`
	} `cmd:"" passthrough:"" help:"Another program."`
	Secret struct{} `cmd:"" hidden:"" help:"Not shown."`
}

const wantCommands = `.SH SYNOPSIS
.B tool
.I command
.RI [ flags ]
.SH DESCRIPTION
Look.
.SH OPTIONS
.TP
.B "\-h, \-\-help"
Show context\-sensitive help.
.TP
.BI "\-\-bus " "DIR"
Where to look.
.SH COMMANDS
.SS ls, dir
List who is there.
All of them.
.TP
.I "[<of>]"
Only these.
.TP
.BI "\-\-head " "N"
The first N.
No more.
.SS other
Another program.
Its flags are those of that command, which has a page of its own.
.SH SEE ALSO
`

func TestAPageHasTheCommands(t *testing.T) {
	parser, err := kong.New(new(tool), kong.Name("tool"), kong.Description("Look."))
	testkit.Must(t, err)
	var b strings.Builder
	testkit.Must(t, manual.Write(&b, parser.Model, manual.Release{Version: "v0.1.0", Date: "2026-11-23"}, "other"))
	_, got, _ := strings.Cut(b.String(), "\ntool \\- look\n")
	got, _, _ = strings.Cut(got, ".BR other")
	if diff := cmp.Diff(wantCommands, got); diff != "" {
		t.Errorf("want (-) and got (+) differ:\n%s", diff)
	}
}
