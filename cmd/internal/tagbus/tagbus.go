// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tagbus

import (
	"tagbus/cmd/internal/acl"
	"tagbus/cmd/internal/bench"
	"tagbus/cmd/internal/cert"
	"tagbus/cmd/internal/check"
	"tagbus/cmd/internal/info"
	"tagbus/cmd/internal/list"
	"tagbus/cmd/internal/losses"
	"tagbus/cmd/internal/mirror"
	"tagbus/cmd/internal/pub"
	"tagbus/cmd/internal/rates"
	"tagbus/cmd/internal/recorder"
	"tagbus/cmd/internal/replay"
	"tagbus/cmd/internal/sub"
	"tagbus/cmd/internal/targets"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/top"
	"tagbus/cmd/internal/web/serve"
)

// Commands are those of tagbus, with the flags of all. Each is a struct with the flags of
// the command and two methods, of which it has the first if they can be wrong together:
//
//	Check() error
//	Run(ctx context.Context, e *tool.Env) error
type Commands struct {
	tool.Flags

	List     list.Command   `cmd:"" name:"ls" help:"List who is there: publishers and receivers, with host, address and tags."`
	Info     info.Command   `cmd:"" help:"Show all that is known of one publisher, receiver, subscriber or sender, or of one tag."`
	Top      top.Command    `cmd:"" help:"Show live which publishers and links are busy, slow or losing."`
	Messages rates.Messages `cmd:"" name:"hz" help:"Show how often messages of some tags come, as publishers count them."`
	Bytes    rates.Bytes    `cmd:"" name:"bw" help:"Show how many bytes a second messages of some tags take, as publishers count them."`
	Losses   losses.Command `cmd:"" help:"Show what was lost: by whom, why, how much and when."`
	Doctor   check.Command  `cmd:"" name:"check" aliases:"doctor" help:"Look for everything that can be wrong with a bus from this host, and say what to do."`
	Web      serve.Command  `cmd:"" help:"Show the bus in a browser."`

	Targets targets.Command `cmd:"" help:"List for Prometheus where programs of the bus serve metrics."`

	Sub   sub.Command   `cmd:"" aliases:"echo" help:"Show messages as they come, without harm to the bus."`
	Pub   pub.Command   `cmd:"" help:"Publish the lines of a file or of standard input, or messages that are made up."`
	Bench bench.Command `cmd:"" help:"Measure throughput and latency between two processes or two hosts, and what plain TCP does beside it."`

	Record recorder.Command `cmd:"" help:"Record what is on the bus into a file that says by itself whether it is whole."`
	Replay replay.Command   `cmd:"" help:"Publish a recording again, with its pauses or as fast as possible."`
	Rec    recordings       `cmd:"" help:"Look into recordings, check and repair them, cut and merge them, and convert them."`

	ACL  acl.Commands  `cmd:"" name:"acl" help:"See which peer a policy lets do what, and test policies."`
	Cert cert.Commands `cmd:"" help:"Make a CA and certificates for a site without a PKI, and see when they end."`

	Mirror mirror.Command `cmd:"" help:"Copy the entries of one directory into another as long as it runs, so that programs move one by one."`

	Publish   program `cmd:"" passthrough:"" help:"Publish messages: the command publisher."`
	Subscribe program `cmd:"" passthrough:"" help:"Receive messages: the command subscriber."`

	Completion shellCompletion `cmd:"" help:"Print the script by which a shell completes this command."`
}
