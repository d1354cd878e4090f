// SPDX-License-Identifier: Apache-2.0

// Package members is the command tagbus-directory: it runs a member of a directory on
// etcd, says how the members are, and does what an operator does with them.
package members

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	clientv3 "go.etcd.io/etcd/client/v3"

	"tagbus/directory/etcd/member"
	"tagbus/internal/build"
	"tagbus/internal/fileflags"
	"tagbus/internal/sanitize"
	"tagbus/internal/signals"
	"tagbus/internal/stream"
	"tagbus/internal/stuck"
)

// Exit codes, as those of the other commands.
const (
	ExitDone   = 0 // all that was asked for is done
	ExitFailed = 1 // something failed, or is wrong with the directory
	ExitUsage  = 2 // the command line makes no sense
)

// Streams are the standard streams of the command.
type Streams struct{ Out, Err io.Writer }

// flags are those of the command line.
type flags struct {
	Run      runFlags      `cmd:"" default:"withargs" help:"Run a member (the default). --data alone is a directory for this host; --listen HOST lets other hosts reach it; --join HOST makes it a further member of a directory."`
	Status   statusFlags   `cmd:"" help:"Say how the members are, what is wrong, and what to do. Ends with status 1 if something is wrong."`
	Remove   removeFlags   `cmd:"" help:"Remove a member that is lost, so that another one may take its place."`
	Compact  compactFlags  `cmd:"" help:"Drop the history of changes, give the space back to the disk, and end an alarm because of it. Each member pauses for that, one after the other."`
	Snapshot snapshotFlags `cmd:"" help:"Write all that the directory has to a file."`

	Config  string           `placeholder:"FILE" help:"Read values of flags from a TOML file. Its keys are their names without the dashes in front: data = \"/var/lib/tagbus-directory\"."`
	Version kong.VersionFlag `help:"Print the version and stop."`
}

// security are the flags for TLS.
type security struct {
	Cert string `placeholder:"FILE" help:"Certificate of this side in PEM, for clients and for other members. With --key and --ca; without them there is no TLS."`
	Key  string `placeholder:"FILE" help:"Private key of --cert, in PEM."`
	CA   string `name:"ca" placeholder:"FILE" help:"Certificates in PEM that sign those of clients and members: all of them must have one with a name."`
}

// files returns what package member takes.
func (s security) files() member.TLS { return member.TLS{Cert: s.Cert, Key: s.Key, CA: s.CA} }

// asking are the flags of commands that ask a directory.
type asking struct {
	At   []string `default:"127.0.0.1" placeholder:"HOST[:PORT]" help:"Addresses for clients of members; any one that answers is enough. Default ${default}."`
	Data string   `placeholder:"DIR" help:"Ask the member of this host that runs in this folder, as its user or as root, who administer it whatever its certificates say. In the place of --at."`
	JSON bool     `name:"json" help:"Print JSON instead of text."`

	security `embed:""`

	dialled []*clientv3.Client // besides the first one
}

const description = "A member of a directory on etcd, for sites that have no etcd: the place in which publishers and subscribers of a bus find each other.\n\n" +
	"The first member: tagbus-directory --data DIR --listen HOST. Each further one: the same with --join HOST of any member. Three members survive the loss of one. " +
	"Started again, a member needs --data only. All flags of a member: tagbus-directory run --help.\n\n" +
	"What is not on the command line comes from the environment variable of its flag (TAGBUS_DATA for --data), then from the file of --config, then it has its default."

// Main runs the command and returns its exit code.
//
//   - args: the command line without the name of the program.
//   - Blocks: until the command is done; a member runs until a signal ends it.
func Main(args []string, s Streams) int {
	signal.Ignore(syscall.SIGPIPE) // a log whose reader has gone ends no member
	stuck.Say(func(n stuck.Note) { _, _ = fmt.Fprintf(s.Err, "%s: %v\n", program, n) })
	var rereads atomic.Bool
	ctx, hurry, stop := signals.Watch(context.Background(), signals.Config{Rereads: rereads.Load, Stacks: s.Err, Status: ExitFailed})
	defer stop()
	defer stuck.Follow(ctx, hurry, func(n stuck.Note) {
		stuck.Exit(s.Err, fmt.Sprintf("%s: %v, %s", program, context.Cause(ctx), n.Text()), ExitFailed)
	})()
	return run(args, s, func(f *flags) context.Context {
		rereads.Store(f.Run.rereads())
		return ctx
	})
}

// run is Main until a context ends, which begin returns for the flags.
func run(args []string, s Streams, begin func(*flags) context.Context) (code int) {
	var f flags
	out := stream.NewOutput(s.Out, nil)
	s.Out = out
	stopped := false
	parser, err := kong.New(&f, kong.Name(program), kong.Description(description), kong.Writers(s.Out, s.Err),
		kong.Vars{"version": program + " " + version()}, kong.Resolvers(&resolver{}),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 100, Compact: true, FlagsLast: true, NoExpandSubcommands: true}),
		kong.Exit(func(status int) { stopped, code = true, status }))
	if err != nil {
		return refuse(s, err)
	}
	nameVariables(parser.Model.Node)
	parsed, err := parser.Parse(args)
	switch {
	case stopped:
		return code
	case out.Gone(): // with the first lines of the help
		return ExitDone
	case err != nil:
		return refuse(s, err)
	}
	fileflags.Name(parsed)
	ctx := begin(&f)
	switch parsed.Selected().Name {
	case "status":
		err = f.Status.run(ctx, s)
	case "remove":
		err = f.Remove.run(ctx, s)
	case "compact":
		err = f.Compact.run(ctx, s)
	case "snapshot":
		err = f.Snapshot.run(ctx, s)
	default:
		err = f.Run.run(ctx, s)
	}
	switch {
	case err == nil, out.Gone():
		return ExitDone
	case errors.Is(err, member.ErrInvalidConfig):
		return refuse(s, err)
	case errors.Is(err, errWrong): // it was said
		return ExitFailed
	}
	say(s.Err, err)
	return ExitFailed
}

// program is the name of the command.
const program = "tagbus-directory"

// errWrong is returned by a command that has said what is wrong.
var errWrong = errors.New("something is wrong")

// refuse says that the command line makes no sense.
func refuse(s Streams, err error) int {
	say(s.Err, err)
	_, _ = fmt.Fprintf(s.Err, "%s: see %s --help\n", program, program)
	return ExitUsage
}

// words says in those of the command line what package member says in those of its Config.
var words = strings.NewReplacer(
	"member: Data", "--data", "member: Name", "--name", "member: Listen", "--listen", "member: Advertise", "--advertise",
	"member: Join", "--join", "member: At", "--at", "member: TLS.Cert", "--cert", "member: TLS.Key", "--key", "member: TLS.CA", "--ca", "member: TLS", "--cert",
	"member: Admins", "--admin", "member: Members", "--member", "member: Policy", "--acl", "member: Revoked", "--revoked",
	"member: Quota", "--quota", "member: Compaction", "--history",
	"in Advertise", "with --advertise", "leave Join out", "leave --join out", "\n", "; ",
)

// say writes an error as one line.
func say(to io.Writer, err error) {
	_, _ = fmt.Fprintf(to, "%s: %s\n", program, sanitize.Line(words.Replace(err.Error())))
}

// version returns what --version says of the build.
func version() string {
	if release := build.Release(); release != "" {
		return release
	}
	if v := build.Info().Main.Version; v != "" && v != "(devel)" {
		return v
	}
	return "of unknown version"
}

// answerTime is how long a member may take to answer. Tests change it.
var answerTime = 3 * time.Second
