// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"tagbus/directory/etcd/member"
	"tagbus/internal/signals"
)

const (
	// joinTime is how long a directory that is to be joined is asked.
	joinTime = time.Minute

	// sayAgain is after how long it is said again that the directory does not work, and
	// how long the service manager waits for it.
	sayAgain = 30 * time.Second
)

// runFlags are those of a member.
type runFlags struct {
	Data      string        `placeholder:"DIR" help:"Folder of the member, on a local disk, for nothing else. It is made if it does not exist. Required."`
	Listen    string        `placeholder:"HOST[:PORT]" help:"Where clients reach the member; other members use the next port. An address or a name of this host; 0.0.0.0 for all, with --advertise. Default 127.0.0.1:2379, which other hosts do not reach."`
	Advertise string        `placeholder:"HOST" help:"Name or address under which others reach this host. Default: that of --listen."`
	Join      []string      `placeholder:"HOST[:PORT]" help:"Be a further member of the directory that has members at these addresses for clients; any one that answers is enough. Without effect once the member has joined. Default: be the first member."`
	Name      string        `placeholder:"TEXT" help:"Name of the member for operators. Default: that of the host, with the port if it is not 2379."`
	Admin     []string      `placeholder:"NAME" help:"Certificates that administer the directory, by name as a policy has it: cn:shift leader, or dns:ops-*.cern.ch. So do the member's own certificate, and its user with --data; without --cert its user and root, on its host."`
	Member    []string      `placeholder:"NAME" help:"Certificates of other members, by name; those with the names of the own one are members. Without --cert the hosts, addresses or networks from which members may join, such as 10.0.0.0/24. Default: members join from this host, and with the same certificate."`
	ACL       string        `name:"acl" placeholder:"FILE" help:"Policy that says which certificates may announce which tags (tagbus acl). Default: all that have one of --ca, and without --cert all that reach the port."`
	Revoked   []string      `placeholder:"FILE" help:"List of revoked certificates."`
	Quota     int64         `placeholder:"BYTES" help:"How large the database may be before the directory takes no more entries, 16 MiB to 8 GiB. The same for all members. Default 2147483648."`
	History   time.Duration `placeholder:"TIME" help:"How long changes are kept, for watchers that were away. Default 1h."`
	JSON      bool          `name:"json" help:"Print where the member is as one line of JSON on standard output once the directory works."`

	Log      string `enum:"text,json" default:"text" placeholder:"FORM" name:"log-format" help:"Form of what is said on standard error: text or json. Default ${default}."`
	LogLevel string `enum:"debug,info,warn,error" default:"info" placeholder:"LEVEL" help:"Say what is as important as this, or more: debug, info, warn or error. Default ${default}."`

	security `embed:""`
}

// started is what --json says.
type started struct {
	Name    string `json:"name"`
	Clients string `json:"clients"`
	Members string `json:"members"`
	URL     string `json:"url"`
}

// run runs a member until ctx ends.
func (f *runFlags) run(ctx context.Context, s Streams) error {
	log, flush := newLogger(s.Err, f.Log, f.LogLevel)
	defer flush()
	joining, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	if len(f.Join) > 0 {
		log.Info("asking the members at " + joined(f.Join))
	}
	m, err := member.Start(joining, member.Config{
		Data: f.Data, Name: f.Name, Listen: f.Listen, Advertise: f.Advertise, Join: f.Join,
		TLS: f.files(), Admins: f.Admin, Members: f.Member, Policy: f.ACL, Revoked: f.Revoked, Quota: f.Quota, Compaction: f.History, Logger: log,
		Fatal: func(error) { flush() },
	})
	if err != nil {
		return err
	}
	log.Info("member "+m.Name()+" has started", "data", f.Data, "clients", m.Clients(), "members", m.Peers())
	stop := f.reloading(m, log)
	err = f.serve(ctx, m, log, s)
	stop()
	notify(log, daemon.SdNotifyStopping)
	if signal := (*signals.Error)(nil); errors.As(context.Cause(ctx), &signal) && signal.Why != "" {
		log.Warn("stopping", "signal", signal.Signal.String(), "why", signal.Why)
	} else {
		log.Info("stopping")
	}
	return errors.Join(err, m.Close())
}

// serve waits until the member fails or ctx ends.
func (f *runFlags) serve(ctx context.Context, m *member.Member, log *slog.Logger, s Streams) error {
	works := make(chan error, 1)
	waiting, cancel := context.WithCancel(ctx)
	go func() { works <- await(waiting, m, log) }()
	defer func() {
		cancel()
		if works != nil {
			if err := <-works; err != nil {
				log.Debug("the member no longer waits for the directory", "error", err)
			}
		}
	}()
	for {
		select {
		case err := <-works:
			works = nil
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			if err := f.welcome(m, log, s); err != nil {
				return err
			}
		case err := <-m.Failed():
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// await returns once the directory works, or with an error when ctx ends, and says
// meanwhile that it does not work.
func await(ctx context.Context, m *member.Member, log *slog.Logger) error {
	for {
		turn, cancel := context.WithTimeout(ctx, sayAgain)
		err := m.Wait(turn)
		cancel()
		if err == nil || ctx.Err() != nil || !errors.Is(err, member.ErrNoQuorum) {
			return err
		}
		log.Warn(words.Replace(err.Error()))
		// The member does its part. It would not help to end it.
		notify(log, daemon.SdNotifyReady+"\nSTATUS=waiting for other members")
	}
}

// welcome says that the directory works, and where.
func (f *runFlags) welcome(m *member.Member, log *slog.Logger, s Streams) error {
	url := m.URL("NAME")
	notify(log, daemon.SdNotifyReady+"\nSTATUS=serving "+url)
	log.Info("the directory works. Programs use --bus " + url + ", where NAME is that of the bus")
	log.Info("further members join with tagbus-directory --data DIR --listen HOST --join " + m.Clients() + ", from another host if --member names it")
	if !f.JSON {
		return nil
	}
	return json.NewEncoder(s.Out).Encode(started{m.Name(), m.Clients(), m.Peers(), url})
}

// notify sends a state to the socket that systemd names in NOTIFY_SOCKET.
func notify(log *slog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn("systemd was not told, and may end the member", "error", err)
	}
}
