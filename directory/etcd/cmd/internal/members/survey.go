// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"tagbus/directory/etcd/member"
)

// keys is what the keys of all buses begin with.
const keys = "/tagbus/"

// survey is what a look at all members says. It is what status --json prints.
type survey struct {
	Directory string   `json:"directory"` // id
	Members   []state  `json:"members"`
	Leader    string   `json:"leader,omitempty"`
	Entries   int64    `json:"entries"` // -1: not known
	Alarms    []string `json:"alarms,omitempty"`

	Authentication bool `json:"authentication,omitempty"` // of etcd itself is switched on

	Wrong []string `json:"wrong,omitempty"`
	Notes []string `json:"notes,omitempty"`

	alarms     []etcdserverpb.AlarmType
	unanswered []string // what is not known, and why
}

// state is how one member is.
type state struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Clients  string `json:"clients,omitempty"` // host:port
	Members  string `json:"members"`           // host:port
	Role     string `json:"role"`              // leader, follower, learner, or - if it does not answer
	Up       bool   `json:"up"`
	Database int64  `json:"database"` // bytes of its file
	InUse    int64  `json:"in_use"`   // bytes of it
	Quota    int64  `json:"quota"`
	Version  string `json:"version,omitempty"`
	Problem  string `json:"problem,omitempty"` // which etcd knows nothing of

	id, leader uint64
	alarms     []etcdserverpb.AlarmType // which the member knows without the others
	client     *clientv3.Client         // by way of which it is asked
	endpoint   string
	err        error
}

// tlsHint says what is to be checked about certificates: a connection of another kind says no more than that it has ended.
func (a *asking) tlsHint() string {
	if a.Cert == "" {
		return "that it has no certificates (if it has: --cert, --key and --ca)"
	}
	return "that it has certificates, of the same --ca"
}

// list asks which members there are. What takes long begins with it: a client waits for a member that
// does not answer as long as it may.
//
//   - Errors: if no member of client answers; the cause of the end of ctx.
func (a *asking) list(ctx context.Context, client *clientv3.Client) (*clientv3.MemberListResponse, error) {
	asked, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	// Also a member without the others knows which there are.
	list, err := client.MemberList(asked, clientv3.WithSerializable())
	switch {
	case err == nil:
		return list, nil
	case member.IsRefusal(err):
		return nil, err
	case wantsUser(err):
		return nil, errors.New(authenticationOn)
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	default:
		return nil, fmt.Errorf("no member answers at %s: %w: check that one runs, that this is its address for clients, and %s; "+
			"a member that was started without half of the others does not answer", joined(client.Endpoints()), err, a.tlsHint())
	}
}

// look asks all members.
//
//   - Errors: those of list.
func (a *asking) look(ctx context.Context, client *clientv3.Client) (*survey, error) {
	list, err := a.list(ctx, client)
	if err != nil {
		return nil, err
	}
	s := &survey{Directory: fmt.Sprintf("%x", list.Header.ClusterId), Entries: -1}
	for _, m := range list.Members {
		one := newState(m)
		if one.client = client; a.Data != "" {
			a.reach(&one, client, m.ID == list.Header.MemberId)
		}
		s.Members = append(s.Members, one)
	}
	var asking sync.WaitGroup
	for i := range s.Members {
		asking.Go(func() { s.Members[i].ask(ctx) })
	}
	asking.Wait()
	for i := range s.Members {
		if one := &s.Members[i]; one.Role == leads {
			s.Leader = one.Name
		}
	}
	s.count(ctx, client)
	s.lookForAlarms(ctx, client)
	s.lookForUsers(ctx, client)
	s.judge()
	return s, nil
}

// unknown notes that a question to all members had no answer.
func (s *survey) unknown(what string, err error) {
	s.unanswered = append(s.unanswered, fmt.Sprintf("%s is not known: %v", what, err))
}

// count asks how many keys of buses there are.
func (s *survey) count(ctx context.Context, client *clientv3.Client) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	count, err := client.Get(ctx, keys, clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		s.unknown("how many entries there are", err)
		return
	}
	s.Entries = count.Count
}

// lookForAlarms asks the members for alarms. If they do not answer together, it takes those that
// each of them knows.
func (s *survey) lookForAlarms(ctx context.Context, client *clientv3.Client) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	alarms, err := client.AlarmList(ctx)
	if err == nil {
		for _, alarm := range alarms.Alarms {
			s.alarms = append(s.alarms, alarm.Alarm)
		}
	} else {
		s.unknown("whether there are other alarms", err)
		for _, one := range s.Members {
			for _, alarm := range one.alarms {
				if !slices.Contains(s.alarms, alarm) {
					s.alarms = append(s.alarms, alarm)
				}
			}
		}
	}
	for _, alarm := range s.alarms {
		s.Alarms = append(s.Alarms, alarm.String())
	}
}

// lookForUsers asks whether etcd's own authentication is switched on. Then it answers nothing
// that has no user.
func (s *survey) lookForUsers(ctx context.Context, client *clientv3.Client) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	status, err := client.AuthStatus(ctx)
	s.Authentication = err == nil && status.Enabled || wantsUser(err)
	if err != nil {
		s.unknown("whether etcd's own authentication is switched on", err)
	}
}

// authenticationOn says that etcd's own authentication is switched on, and what to do.
const authenticationOn = "etcd's own authentication is switched on: programs without ?user= in --bus are refused, and so is this command. " +
	"If no administrator meant that: etcdctl --user root auth disable, at the socket control/clients.sock in --data of a member"

// wantsUser reports whether etcd has refused a request since it has no user, or one without the
// right.
func wantsUser(err error) bool {
	if member.IsRefusal(err) {
		return false
	}
	err = rpctypes.Error(err)
	return errors.Is(err, rpctypes.ErrUserEmpty) || errors.Is(err, rpctypes.ErrPermissionDenied) || errors.Is(err, rpctypes.ErrInvalidAuthToken)
}

// reach says by way of what the member is asked, for a command that asks the one of a folder.
func (a *asking) reach(one *state, client *clientv3.Client, own bool) {
	switch {
	case own:
		one.endpoint = client.Endpoints()[0]
	case one.endpoint == "":
	case strings.HasPrefix(one.endpoint, "https:") && a.files() == (member.TLS{}):
		one.client, one.err = nil, errNoCertificate
	default:
		if one.client, one.err = member.Dial([]string{hostOf(one.endpoint)}, a.files()); one.err == nil {
			a.dialled = append(a.dialled, one.client)
		}
	}
}

// errNoCertificate says why a member was not asked.
var errNoCertificate = errors.New("it has a certificate, and asks for one: give --cert, --key and --ca, too")

// Roles of members.
const (
	leads   = "leader"
	follows = "follower"
	learns  = "learner"
)

// newState returns what the list of members says of one.
func newState(m *etcdserverpb.Member) state {
	one := state{ID: fmt.Sprintf("%x", m.ID), Name: m.Name, id: m.ID}
	if one.Name == "" {
		one.Name = one.ID
	}
	for _, at := range m.PeerURLs {
		one.Members = hostOf(at)
	}
	for _, at := range m.ClientURLs {
		one.Clients, one.endpoint = hostOf(at), at
	}
	return one
}

// ask asks the member how it is.
func (one *state) ask(ctx context.Context) {
	if one.err != nil {
		return
	}
	if one.endpoint == "" {
		one.err = errors.New("it has not started yet")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	status, err := one.client.Status(ctx, one.endpoint)
	if err != nil {
		one.err = err
		return
	}
	one.Up, one.Version, one.leader = true, status.Version, status.Leader
	one.Problem, one.alarms = member.ProblemOf(status), member.AlarmsOf(status)
	one.Database, one.InUse, one.Quota = status.DbSize, status.DbSizeInUse, status.DbSizeQuota
	switch {
	case status.IsLearner:
		one.Role = learns
	case status.Leader == one.id:
		one.Role = leads
	default:
		one.Role = follows
	}
}

// hostOf returns HOST:PORT of a URL.
func hostOf(at string) string {
	if u, err := url.Parse(at); err == nil && u.Host != "" {
		return u.Host
	}
	return at
}

// Limits from which on status says something.
const (
	nearQuota  = 0.8
	muchUnused = 100 << 20 // bytes
)
