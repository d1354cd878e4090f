// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/status"

	"tagbus/directory/etcd/internal/guard"
	"tagbus/internal/stuck"
)

const (
	// answerTime is how long a member may take to answer one request.
	answerTime = 3 * time.Second

	// tryAgain is the pause before what was refused for a while is asked again.
	tryAgain = 500 * time.Millisecond
)

// config returns the configuration for both sides of a connection; nil without TLS.
//
//   - Errors: *SettingError.
func (t TLS) config() (*tls.Config, error) {
	if t.isZero() {
		return nil, nil
	}
	info := transport.TLSInfo{CertFile: t.Cert, KeyFile: t.Key, TrustedCAFile: t.CA}
	over := stuck.On(t.Cert)
	config, err := info.ClientConfig()
	over()
	if err != nil {
		return nil, &SettingError{"TLS", t.Cert, ErrInvalidConfig, err, "give a certificate, its key, and the certificates that sign others, in PEM"}
	}
	return config, nil
}

// Dial returns a client of some members, for those that administer a directory. It does
// not wait for an answer.
//
//   - at: addresses for clients, each HOST or HOST:PORT; at least one.
//   - Errors: *SettingError.
//   - Threads: any. Blocks: never.
func Dial(at []string, files TLS) (*clientv3.Client, error) {
	config, err := files.config()
	if err != nil {
		return nil, err
	}
	endpoints := make([]string, 0, len(at))
	for _, one := range at {
		address, err := ClientAddress(one)
		if err != nil {
			return nil, &SettingError{"Join", one, ErrInvalidConfig, nil, err.Error()}
		}
		endpoints = append(endpoints, files.scheme()+"://"+address)
	}
	return clientv3.New(clientv3.Config{
		Endpoints: endpoints, TLS: config, DialTimeout: answerTime, Logger: zap.NewNop(),
		DialKeepAliveTime: 5 * time.Second, DialKeepAliveTimeout: answerTime,
	})
}

// DialFolder returns a client of the member that runs in a folder, for the user of the member
// and root. It does not wait for an answer.
//
//   - data: as in Config.
//   - Errors: *SettingError.
//   - Threads: any. Blocks: for the disk.
func DialFolder(data string) (*clientv3.Client, error) {
	absolute, err := filepath.Abs(data)
	if err != nil {
		return nil, folderError(data, err)
	}
	if _, err := stuck.Stat(filepath.Join(absolute, controlFolder, clientSocket)); err != nil {
		return nil, &SettingError{"Data", data, ErrFolder, err, "give the folder of a member that runs, as its user or as root"}
	}
	path, _, err := socketPath(absolute, clientSocket) // its descriptor lives as long as the client
	if err != nil {
		return nil, err
	}
	return clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + path}, DialTimeout: answerTime, Logger: zap.NewNop()})
}

// joiner asks the members of a directory to take a further one.
type joiner struct {
	config  *Config
	client  *clientv3.Client
	name    string
	peers   string // URL of the new member
	refusal error  // the last one
}

// join makes the new member known as a learner, and returns the members as etcd wants them
// in InitialCluster. What failed for a while is tried until ctx ends.
//
//   - Errors: *SettingError with ErrNoAnswer, ErrNoQuorum, ErrTaken or ErrInvalidConfig.
func (j *joiner) join(ctx context.Context) (initial string, err error) {
	j.client, err = Dial(j.config.Join, j.config.TLS)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, j.client.Close()) }()
	for {
		members, err := j.try(ctx)
		if setting := (*SettingError)(nil); err == nil || errors.As(err, &setting) {
			return members, err
		}
		if ctx.Err() == nil || j.refusal == nil {
			j.refusal = err
		}
		select {
		case <-ctx.Done():
			return "", j.refused()
		case <-time.After(tryAgain):
		}
	}
}

// try asks once.
func (j *joiner) try(ctx context.Context) (initial string, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	list, err := j.client.MemberList(ctx)
	if err != nil {
		return "", j.final(err)
	}
	members := list.Members
	at := -1
	for i, m := range members {
		switch {
		case len(m.PeerURLs) == 1 && m.PeerURLs[0] == j.peers && m.Name == "": // of an attempt before
			at = i
		case len(m.PeerURLs) == 1 && m.PeerURLs[0] == j.peers:
			return "", &SettingError{
				"Listen", j.peers, ErrTaken, fmt.Errorf("%s is there", m.Name),
				"if its folder is lost, remove it with tagbus-directory remove " + m.Name + ", and join again",
			}
		case m.Name == j.name:
			return "", &SettingError{
				"Name", j.name, ErrTaken, fmt.Errorf("it is at %s", strings.Join(m.ClientURLs, ",")),
				"give another name; if its folder is lost, remove it with tagbus-directory remove " + m.Name + ", and join again",
			}
		}
	}
	if at < 0 {
		added, err := j.client.MemberAddAsLearner(ctx, []string{j.peers})
		if err != nil {
			return "", j.final(err)
		}
		members = added.Members
		for i, m := range members {
			if m.ID == added.Member.ID {
				at = i
			}
		}
	}
	return initialCluster(members, at, j.name), nil
}

// final makes the refusal of a member an error that ends the attempts.
func (j *joiner) final(err error) error {
	if !IsRefusal(err) {
		return err
	}
	return &SettingError{
		"Join", strings.Join(j.config.Join, ","), ErrNotAllowed, errors.New(RefusalText(err)),
		"start the members with --member and the name of the certificate of this one, or without certificates with its address",
	}
}

// IsRefusal reports whether an error is that of a request which a member of this package did
// not let pass. Threads: any.
func IsRefusal(err error) bool {
	return err != nil && strings.Contains(err.Error(), guard.Prefix)
}

// RefusalText returns why a member of this package did not let a request pass. Threads: any.
func RefusalText(err error) string {
	text := err.Error()
	if s, ok := status.FromError(err); ok {
		text = s.Message()
	}
	if i := strings.Index(text, guard.Prefix); i >= 0 {
		text = text[i+len(guard.Prefix):]
	}
	return text
}

// initialCluster returns members as etcd wants them. Members without a name have not begun
// yet, and get one.
//
//   - at: the index of the member that is called name.
func initialCluster(members []*etcdserverpb.Member, at int, name string) string {
	var all []string
	for i, m := range members {
		called := m.Name
		switch {
		case i == at:
			called = name
		case called == "":
			called = fmt.Sprintf("%x", m.ID)
		}
		for _, url := range m.PeerURLs {
			all = append(all, called+"="+url)
		}
	}
	return strings.Join(all, ",")
}

// refused returns why no member took the new one in time.
func (j *joiner) refused() error {
	at := strings.Join(j.config.Join, ",")
	switch {
	case errors.Is(j.refusal, rpctypes.ErrTooManyLearners):
		return &SettingError{"Join", at, ErrNoQuorum, j.refusal, "another member is joining: try again when it has, or remove it (tagbus-directory status)"}
	case errors.Is(j.refusal, rpctypes.ErrUnhealthy):
		return &SettingError{"Join", at, ErrNoQuorum, j.refusal, "with one more member too few would be up: start those that are away, or remove them, one at a time (tagbus-directory status)"}
	}
	for _, endpoint := range j.client.Endpoints() {
		ctx, cancel := context.WithTimeout(context.Background(), answerTime)
		_, err := j.client.Status(ctx, endpoint)
		cancel()
		if err == nil {
			return &SettingError{"Join", at, ErrNoQuorum, j.refusal, "start more of its members: a directory takes members while more than half of them are up"}
		}
	}
	return &SettingError{
		"Join", at, ErrNoAnswer, j.refusal,
		"check that the member runs, that this is its address for clients, and that more than half of the members are up",
	}
}
