// SPDX-License-Identifier: Apache-2.0

// Package cli is what the commands have in common: flags, exit codes, signals,
// and how they talk to the person who started them.
package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/alecthomas/kong"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/cmd/internal/options"
	"tagbus/cmd/internal/words"
	"tagbus/internal/fileflags"
	"tagbus/internal/stream"
	"tagbus/internal/stuck"
)

// Exit codes of the commands.
const (
	ExitDone   = 0 // all that was asked for is done
	ExitFailed = 1 // something failed, or messages were lost
	ExitUsage  = 2 // the command line makes no sense
)

// Streams are the standard streams of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// UsageError reports a command line that makes no sense.
type UsageError struct{ Err error }

// Error returns the text of the cause.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// Code returns the exit code for an error: nil is done, and errors in the
// configuration come from the command line.
func Code(err error) int {
	var usage *UsageError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &usage), errors.Is(err, bus.ErrInvalidConfig), errors.Is(err, errUnknownBackend),
		errors.Is(err, directory.ErrInvalidURL), errors.Is(err, directory.ErrUnknownScheme):
		return ExitUsage
	default:
		return ExitFailed
	}
}

// Common are the flags of every command.
type Common struct {
	Bus       string        `required:"" placeholder:"DIR|URL" help:"Directory through which publishers and subscribers find each other, the same for all of a bus: a folder, or etcd://HOST,HOST/NAME. A publisher, or a subscriber with --receive, makes a folder that does not exist; the others wait for it. It may be on NFS. Servers of etcd that are away are waited for."`
	Backend   string        `placeholder:"NAME" help:"Transport: shm (shared memory, on one host), tcp, tls (tcp with certificates and TLS 1.3), rdma or rdma:PROVIDER, or rdma:PROVIDER@DEVICE for one device, as --fabrics names it. Several with commas, the best one first; connections use the best one that both ends have, and are shared out among devices. Default auto: shm,tcp, and rdma:verbs or its devices between them where the host has it, or shm,tls with --cert."`
	SHMFolder string        `name:"shm-folder" placeholder:"FOLDER" help:"Folder of the sockets by which programs of this host find each other for shm, the same for those that are to share memory: of one group, say, or mounted into containers. Whoever may use it reads all that is published there. Default: one of this user alone."`
	Loops     int           `default:"1" placeholder:"N" help:"Event loops that send and receive, each on a processor, 1 to 64: more than 1 for many connections that keep one processor busy. Not over shm. Default ${default}."`
	Name      string        `placeholder:"TEXT" help:"Name shown to other operators, at most 255 bytes. Default: none."`
	Duration  time.Duration `placeholder:"TIME" help:"Stop in order after this time, for example 90s or 1h30m. Default: no limit."`
	Config    string        `placeholder:"FILE" help:"Read values of flags from a TOML file. Its keys are their names without the dashes in front: tags = \"0x100-0x10f\"."`
	Metrics   *Address      `placeholder:"ADDR:PORT" help:"Serve metrics for Prometheus at http://ADDR:PORT/metrics, a health check at /healthz, the state of the program at /api/v1/state and as a page at /, while the command runs, to whoever can reach the address, so name 127.0.0.1 unless others are to; a program with an entry in the directory announces it there; port 0 lets the system pick and standard error tells. Default: none."`

	Expiry *time.Duration `placeholder:"TIME" help:"How long a publisher in the directory may give no sign of life before it is taken for gone; 90s or more for a folder on NFS. Default 5s in a folder, 30s on etcd."`

	MaxEntries int `placeholder:"N" help:"How many entries of programs that may live are followed in a folder, the same for all programs of a bus. More are told as a problem. Default 4096."`

	Heartbeat        *time.Duration `placeholder:"TIME" help:"Longest time without a sign of life to the programs connected to this one; 0 sends none and takes their silence for nothing. Default 2s, or a third of --heartbeat-timeout."`
	HeartbeatTimeout *time.Duration `placeholder:"TIME" help:"Silence after which a connection is closed; at least two times --heartbeat; 0 never. Default 6s, or three times --heartbeat."`

	LossFile string `placeholder:"FILE" help:"Append what is lost to a file, each second a line of JSON for each tag, peer and cause; commands may share it, and tagbus losses --loss-file reads it. Default: none."`

	Security

	Log

	JSON    bool             `name:"json" help:"Print the summary as one line of JSON on standard output instead of as text on standard error."`
	Version kong.VersionFlag `help:"Print the version and stop."`
	Fabrics fabricsFlag      `help:"List what --backend can be on this host (providers of libfabric, devices, speed of links) and what is missing, and stop."`
}

// minExpiry is two of the looks at the directory that the file package makes by
// default.
const minExpiry = time.Second

// Check reports what is wrong with the flags together.
func (c *Common) Check() error {
	if c.Bus == "" {
		return errors.Join(errors.New("--bus: got no directory, want the path of a folder or a URL"), c.CheckBusless())
	}
	return c.CheckBusless()
}

// CheckBusless is Check for a command that needs no bus.
func (c *Common) CheckBusless() error {
	var errs []error
	if strings.ContainsFunc(c.Name, unprintable) {
		errs = append(errs, fmt.Errorf("--name: got %q, want printable text", c.Name))
	}
	if err := c.Security.Check(c.Backend); err != nil {
		errs = append(errs, err)
	}
	if c.Duration < 0 {
		errs = append(errs, fmt.Errorf("--duration: got %v, want a positive time", c.Duration))
	}
	if c.Loops < 1 { // 0 is a default elsewhere
		errs = append(errs, fmt.Errorf("--loops: got %d, want 1 or more", c.Loops))
	}
	if d := c.Heartbeat; d != nil && *d < 0 {
		errs = append(errs, fmt.Errorf("--heartbeat: got %v, want 0 or more", *d))
	}
	if d := c.HeartbeatTimeout; d != nil && *d < 0 {
		errs = append(errs, fmt.Errorf("--heartbeat-timeout: got %v, want 0 or more", *d))
	}
	if d := c.Expiry; d != nil && *d < minExpiry {
		errs = append(errs, fmt.Errorf("--expiry: got %v, want at least %v", *d, minExpiry))
	}
	return errors.Join(append(errs, options.CheckEntries(c.MaxEntries))...)
}

// BusOf implements BusUser.
func (c *Common) BusOf(any) string { return c.Bus }

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// Program describes a command for its help.
type Program struct {
	Name        string
	Description string
}

// Flags is a struct as kong takes it.
type Flags interface {
	// Check reports what the types of the flags let pass. It is not called
	// Validate because kong would call that one before it looks for missing
	// flags, and the less helpful error would win.
	Check() error
}

// precedence is said in the help of every command.
const precedence = "What is not on the command line comes from the environment variable of its flag, then from the file of --config, then it has its default. An empty variable counts for none."

// Parse reads a command line, and the environment and the file for what is not in it,
// into flags, a pointer. If run is false the command is to end with the code: help was
// asked for, or the command line makes no sense, and that has been said.
func Parse(p Program, flags Flags, args []string, s Streams) (code int, run bool) {
	_, code, run = parse(p, flags, args, s)
	return code, run
}

// parse is Parse, and returns what was read, too.
func parse(p Program, flags Flags, args []string, s Streams) (read *kong.Context, code int, run bool) {
	stopped := false // by --help, --version or --fabrics
	var from settings
	parser, err := newParser(p, flags, kong.Writers(s.Out, s.Err), kong.Resolvers(&from),
		kong.Exit(func(status int) { stopped, code = true, status }))
	if err == nil {
		read, err = parser.Parse(args)
	}
	if wrong := (*kong.ParseError)(nil); errors.As(err, &wrong) {
		read = wrong.Context
	}
	if stream.Gone(s.Out, err) { // with the first lines of the help
		return nil, ExitDone, false
	}
	if err == nil && !stopped {
		err = errors.Join(flags.Check(), checkCommand(read), checkBus(p, flags, read))
	}
	err = from.explain(err)
	late := (*stuck.LateError)(nil)
	switch {
	case stopped:
		return nil, code, false
	case errors.As(err, &late):
		_ = complain(s.Err, fmt.Sprintf("%s: %s\n", p.Name, Text(late)))
		return nil, ExitFailed, false
	case err != nil:
		return nil, Refuse(p, commandName(read), err, s), false
	}
	fileflags.Name(read)
	return read, ExitDone, true
}

// Refuse says that a command line makes no sense, and returns the exit code for that.
//
//   - command: that of the program whose flags are wrong; "" if it has none.
func Refuse(p Program, command string, err error, s Streams) (code int) {
	text, name := options.HouseWords(Text(err)), p.Name
	if command != "" {
		text, name = command+": "+text, name+" "+command
	}
	_ = complain(s.Err, fmt.Sprintf("%s: %s\n%s: see %s --help\n", p.Name, text, p.Name, name))
	return ExitUsage
}

// newParser returns what reads the command line of a program.
func newParser(p Program, flags Flags, more ...kong.Option) (*kong.Kong, error) {
	parser, err := kong.New(flags, append(more,
		kong.Name(p.Name), kong.Description(p.Description+"\n\n"+precedence), options.Durations, kong.ValueFormatter(help),
		kong.Vars{"version": p.Name + " " + version()},
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 100, Compact: true, FlagsLast: true}))...)
	if err == nil {
		nameVariables(parser.Model.Node, "TAGBUS_")
	}
	return parser, err
}

// Defaults gives flags the values that they have when the command line has no more than
// args: those that are required. The environment and files are not read.
func Defaults(p Program, flags Flags, args ...string) error {
	parser, err := newParser(p, flags)
	if err == nil {
		_, err = parser.Parse(args)
	}
	return err
}

// Model returns the flags of a program with their environment variables, for its man page
// and its completion.
func Model(p Program, flags Flags) (*kong.Application, error) {
	parser, err := newParser(p, flags)
	if err != nil {
		return nil, err
	}
	return parser.Model, nil
}

// Text returns an error as one line, safe to show, in the words of the command line; see options.Text.
func Text(err error) string { return options.Text(err) }

// Words is Text for the text of an error, as another program has sent it.
func Words(text string) string { return words.Of(text) }
