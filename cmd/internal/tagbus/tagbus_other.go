// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package tagbus

import (
	"context"
	"errors"
	"runtime"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
)

// Commands are those of tagbus. What needs a bus says so: it is for Linux.
type Commands struct {
	tool.Flags

	Rec recordings `cmd:"" help:"Look into recordings, check and repair them, cut and merge them, and convert them."`

	List       elsewhere `cmd:"" passthrough:"" name:"ls" help:"Needs Linux."`
	Info       elsewhere `cmd:"" passthrough:"" help:"Needs Linux."`
	Top        elsewhere `cmd:"" passthrough:"" help:"Needs Linux."`
	Messages   elsewhere `cmd:"" passthrough:"" name:"hz" help:"Needs Linux."`
	Bytes      elsewhere `cmd:"" passthrough:"" name:"bw" help:"Needs Linux."`
	Losses     elsewhere `cmd:"" passthrough:"" help:"Needs Linux."`
	Doctor     elsewhere `cmd:"" passthrough:"" name:"check" help:"Needs Linux."`
	Web        elsewhere `cmd:"" passthrough:"" help:"Needs Linux."`
	Targets    elsewhere `cmd:"" passthrough:"" help:"Needs Linux."`
	Sub        elsewhere `cmd:"" passthrough:"" help:"Needs Linux."`
	Pub        elsewhere `cmd:"" passthrough:"" help:"Needs Linux."`
	Bench      elsewhere `cmd:"" passthrough:"" help:"Needs Linux."`
	Record     elsewhere `cmd:"" passthrough:"" help:"Needs Linux."`
	Replay     elsewhere `cmd:"" passthrough:"" help:"Needs Linux."`
	ACL        elsewhere `cmd:"" passthrough:"" name:"acl" help:"Needs Linux."`
	Cert       elsewhere `cmd:"" passthrough:"" help:"Needs Linux."`
	Mirror     elsewhere `cmd:"" passthrough:"" help:"Needs Linux."`
	Publish    elsewhere `cmd:"" passthrough:"" help:"Needs Linux."`
	Subscribe  elsewhere `cmd:"" passthrough:"" help:"Needs Linux."`
	Completion elsewhere `cmd:"" passthrough:"" help:"Needs Linux."`
}

// programs are none here.
var programs map[string]func(name string, args []string, s cli.Streams) int

// errNeedsLinux is what each command says that is not here.
var errNeedsLinux = errors.New("needs Linux, and this is " + runtime.GOOS + ": run it on a host of the bus; tagbus rec reads recordings here")

// elsewhere is a command for Linux.
type elsewhere struct {
	tool.NoBus
	Args []string `arg:"" optional:"" help:"See the help of the command on Linux."`
}

// Check reports that the command is not here.
func (*elsewhere) Check() error { return errNeedsLinux }

// Run reports that the command is not here.
func (*elsewhere) Run(context.Context, *tool.Env) error { return errNeedsLinux }
