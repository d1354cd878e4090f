// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
)

const (
	// readTime is how long a read may take that all members agree on.
	readTime = 2 * time.Second

	// lookEvery is how often the member looks for alarms.
	lookEvery = 5 * time.Second
)

// Wait returns once the directory works as this member sees it: most members are up, and
// this one has caught up with them and may vote.
//
//   - ctx: how long to wait.
//   - Errors: *SettingError with ErrNoQuorum when ctx ends first, and with ErrRemoved;
//     ErrClosed.
//   - Threads: any. Blocks: until then.
func (m *Member) Wait(ctx context.Context) error {
	server := m.etcd.Server
	last := errors.New("no member leads")
	for {
		select {
		case <-m.quit:
			return ErrClosed
		default:
		}
		err := m.settle(ctx)
		switch {
		case err == nil:
			return nil
		case ctx.Err() == nil:
			last = err
		}
		select {
		case <-ctx.Done():
			return &SettingError{
				"Data", m.config.Data, ErrNoQuorum, fmt.Errorf("%w; %s", last, m.missing()),
				"start the members that are away; if their folders are lost, see \"All are lost, or most of them\" in docs/directory.md",
			}
		case <-m.quit:
			return ErrClosed
		case <-server.StopNotify():
			return m.stopped()
		case <-time.After(tryAgain):
		}
	}
}

// settle makes what is missing to a member that works, once.
func (m *Member) settle(ctx context.Context) error {
	server := m.etcd.Server
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	if err := server.LinearizableReadNotify(ctx); err != nil {
		return err
	}
	if server.IsLearner() {
		if _, err := server.PromoteMember(ctx, uint64(server.MemberID())); err != nil {
			return fmt.Errorf("it has not caught up: %w", err)
		}
		m.config.Logger.Info("the member has caught up, and votes from now on", "name", m.config.Name)
		if server.IsLearner() { // the leader knows first
			return errors.New("it does not vote yet")
		}
	}
	if me := server.Cluster().Member(server.MemberID()); me != nil && !slices.Equal(me.PeerURLs, []string{m.at.peers.String()}) {
		moved := membership.Member{ID: me.ID, RaftAttributes: membership.RaftAttributes{PeerURLs: []string{m.at.peers.String()}}}
		if _, err := server.UpdateMember(ctx, moved); err != nil {
			return fmt.Errorf("its new address %s is not known to the others: %w", m.at.peers.Host, err)
		}
	}
	select {
	case <-server.ReadyNotify():
		return nil
	case <-ctx.Done():
		return errors.New("it does not serve yet")
	}
}

// missing says which members others would be asked for.
func (m *Member) missing() string {
	members := m.etcd.Server.Cluster().Members()
	var others []string
	for _, other := range members {
		if other.ID != m.etcd.Server.MemberID() {
			others = append(others, fmt.Sprintf("%s at %s", nameOf(other), hostsOf(other.PeerURLs)[1:]))
		}
	}
	if len(others) == 0 {
		return "it is the only member"
	}
	return fmt.Sprintf("the others of %d members are %s", len(members), describe(others))
}

// nameOf returns the name of a member, or its id if it has none yet.
func nameOf(m *membership.Member) string {
	if m.Name != "" {
		return m.Name
	}
	return m.ID.String()
}

// stopped returns why etcd has stopped by itself.
func (m *Member) stopped() error {
	if m.core.wasRemoved() {
		return &SettingError{"Data", m.config.Data, ErrRemoved, nil, "to have it back as a new member, clear the folder, and join"}
	}
	return &SettingError{"Data", m.config.Data, ErrFolder, nil, "etcd has stopped: the lines before say why"}
}

// watch says when the member sees a leader, or none, and alarms, until Close.
func (m *Member) watch() {
	server := m.etcd.Server
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	led := types.ID(0)
	var raised []string
	users := false
	for {
		changed := server.LeaderChangedNotify()
		led = m.sayLeader(led)
		raised = m.sayAlarms(raised)
		users = m.sayUsers(users)
		select {
		case <-m.quit:
			return
		case <-server.StopNotify():
			m.failed <- m.stopped()
			return
		case err := <-m.etcd.Err():
			m.failed <- fmt.Errorf("member: %w", err)
			return
		case <-changed:
		case <-tick.C:
		}
	}
}

// sayLeader says that another member leads than before, and returns which.
func (m *Member) sayLeader(before types.ID) types.ID {
	server := m.etcd.Server
	now := server.Leader()
	switch now {
	case before:
	case 0:
		m.config.Logger.Warn("no member leads: the directory takes no changes until more members are up; connections of the bus go on", "members", m.missing())
	default:
		name := now.String()
		if leader := server.Cluster().Member(now); leader != nil {
			name = nameOf(leader)
		}
		m.config.Logger.Info("a member leads", "name", name, "here", now == server.MemberID(), "members", len(server.Cluster().Members()))
	}
	return now
}

// sayAlarms says which alarms are new or over, and returns those that there are.
func (m *Member) sayAlarms(before []string) (now []string) {
	for _, alarm := range m.etcd.Server.Alarms() {
		if alarm.Alarm == etcdserverpb.AlarmType_NONE {
			continue
		}
		text := alarm.Alarm.String()
		now = append(now, text)
		if !slices.Contains(before, text) {
			m.config.Logger.Error("alarm "+text+": "+AlarmHint(alarm.Alarm), "member", types.ID(alarm.MemberID).String())
		}
	}
	for _, text := range before {
		if !slices.Contains(now, text) {
			m.config.Logger.Info("alarm " + text + " is over")
		}
	}
	return now
}

// sayUsers says when etcd's own authentication is switched on or off, and returns which it is.
func (m *Member) sayUsers(before bool) (now bool) {
	now = m.authenticates()
	switch {
	case now && !before:
		m.config.Logger.Error("etcd's own authentication is switched on: programs without ?user= in --bus are refused; tagbus-directory status says how to switch it off")
	case before && !now:
		m.config.Logger.Info("etcd's own authentication is switched off")
	}
	return now
}

// AlarmHint says what an alarm of etcd means for a directory, and what to do. Threads: any.
func AlarmHint(alarm etcdserverpb.AlarmType) string {
	switch alarm {
	case etcdserverpb.AlarmType_NOSPACE:
		return "the database has reached its quota, and the directory takes no new entries; those that are there stay: run tagbus-directory compact, or raise --quota on all members"
	case etcdserverpb.AlarmType_CORRUPT:
		return "the members differ in what they have: remove the one that differs, clear its folder, and join again"
	default:
		return "see the documentation of etcd"
	}
}
