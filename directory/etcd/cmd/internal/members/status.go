// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"tagbus/directory/etcd/member"
	"tagbus/internal/sanitize"
)

// statusFlags are those of status.
type statusFlags struct {
	asking `embed:""`
}

// run says how the members are.
func (f *statusFlags) run(ctx context.Context, s Streams) error {
	return f.with(func(client *clientv3.Client) error {
		found, err := f.look(ctx, client)
		if err != nil {
			return err
		}
		if f.JSON {
			err = json.NewEncoder(s.Out).Encode(found)
		} else {
			err = found.print(s.Out)
		}
		if err == nil && len(found.Wrong) > 0 {
			err = errWrong
		}
		return err
	})
}

// with calls do with a client of the members that the flags name.
func (a *asking) with(do func(*clientv3.Client) error) error {
	client, err := a.dial()
	if setting := (*member.SettingError)(nil); errors.As(err, &setting) && setting.Setting == "Join" {
		setting.Setting = "At"
	}
	if err != nil {
		return err
	}
	err = refusal(do(client))
	for _, one := range append(a.dialled, client) {
		err = errors.Join(err, one.Close())
	}
	return err
}

// dial returns a client of the members that the flags name.
func (a *asking) dial() (*clientv3.Client, error) {
	if a.Data != "" {
		return member.DialFolder(a.Data)
	}
	return member.Dial(a.At, a.files())
}

// refusal makes the error of a request that a member did not let pass say what to do.
func refusal(err error) error {
	if !member.IsRefusal(err) {
		return err
	}
	return fmt.Errorf("%s: run this command with --cert of an administrator, or with --data and the folder of the member, on its host and as its user", member.RefusalText(err))
}

// print writes a survey for people.
func (s *survey) print(to io.Writer) error {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(cells ...string) {
		for i, cell := range cells {
			if cell = sanitize.Text(cell); cell == "" {
				cell = "-"
			}
			cells[i] = cell
		}
		_, _ = fmt.Fprintln(table, strings.Join(cells, "\t")) // to a strings.Builder
	}
	row("MEMBER", "CLIENTS", "MEMBERS", "ROLE", "DATABASE", "IN USE", "VERSION")
	for _, one := range s.Members {
		if !one.Up {
			row(one.Name, one.Clients, one.Members, "down", "", "", "")
			continue
		}
		row(one.Name, one.Clients, one.Members, one.Role, size(one.Database), size(one.InUse), one.Version)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	entries := "an unknown number of entries"
	if s.Entries >= 0 {
		entries = fmt.Sprintf("%d keys of all buses", s.Entries)
	}
	fmt.Fprintf(&b, "directory %s: %s\n", s.Directory, entries)
	for _, one := range s.Wrong {
		fmt.Fprintln(&b, "wrong: "+sanitize.Line(one))
	}
	for _, one := range s.Notes {
		fmt.Fprintln(&b, "note: "+sanitize.Line(one))
	}
	if len(s.Wrong) == 0 {
		fmt.Fprintln(&b, "nothing is wrong")
	}
	_, err := io.WriteString(to, b.String())
	return err
}

// removeFlags are those of remove.
type removeFlags struct {
	Name string `arg:"" placeholder:"NAME" help:"Name or id of the member, as status has it."`

	asking `embed:""`
}

// removed is what remove --json prints.
type removed struct {
	Name string `json:"name"`
	ID   string `json:"id"`
}

// run removes a member.
func (f *removeFlags) run(ctx context.Context, s Streams) error {
	return f.with(func(client *clientv3.Client) error {
		found, err := f.look(ctx, client)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(found.Members, func(one state) bool { return one.Name == f.Name || one.ID == f.Name })
		if at < 0 {
			return fmt.Errorf("the directory has no member %s: it has %s", f.Name, found.names())
		}
		one := found.Members[at]
		if len(found.Members) == 1 {
			return fmt.Errorf("%s is the only member: stop it, and delete its folder, to end the directory", one.Name)
		}
		if err := drop(ctx, client, one.id); err != nil {
			return fmt.Errorf("%s was not removed: %w: more than half of the members must be up, also without it (tagbus-directory status)", one.Name, err)
		}
		if f.JSON {
			return json.NewEncoder(s.Out).Encode(removed{one.Name, one.ID})
		}
		_, err = fmt.Fprintf(s.Out, "%s is no member any more. Its folder is of no use: to join again, it needs an empty one\n", sanitize.Text(one.Name))
		return err
	})
}

// settleTime is how long members refuse changes after some of them have found each other
// again, and a bit more: it is 5 s in etcd.
const settleTime = 10 * time.Second

// tryAgain is the pause before a change that was refused is asked for again.
const tryAgain = 500 * time.Millisecond

// drop removes a member. It asks again while the others have not been connected for long
// enough.
func drop(ctx context.Context, client *clientv3.Client, id uint64) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	for {
		_, err := client.MemberRemove(ctx, id)
		if !errors.Is(err, rpctypes.ErrUnhealthy) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(tryAgain):
		}
	}
}

// names returns those of all members.
func (s *survey) names() string {
	var names []string
	for _, one := range s.Members {
		names = append(names, one.Name)
	}
	return joined(names)
}

// joined returns a list for a line.
func joined(list []string) string { return strings.Join(list, ", ") }
