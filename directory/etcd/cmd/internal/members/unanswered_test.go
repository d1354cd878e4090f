// SPDX-License-Identifier: Apache-2.0

package members_test

import (
	"context"
	"net"
	"path"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// serveAnswers runs what looks like a member, which has these answers by the name of the method, and
// returns where.
func serveAnswers(t *testing.T, answers map[string]any) (at string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if answer, ok := answers[path.Base(info.FullMethod)]; ok {
			return answer, nil
		}
		return handle(ctx, request) // which has none
	}))
	etcdserverpb.RegisterClusterServer(s, etcdserverpb.UnimplementedClusterServer{})
	etcdserverpb.RegisterKVServer(s, etcdserverpb.UnimplementedKVServer{})
	etcdserverpb.RegisterMaintenanceServer(s, etcdserverpb.UnimplementedMaintenanceServer{})
	etcdserverpb.RegisterAuthServer(s, etcdserverpb.UnimplementedAuthServer{})
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// A question that has no answer is wrong itself. An alarm may be in the answer of a single member.
func TestQuestionsWithoutAnAnswer(t *testing.T) {
	header := new(etcdserverpb.ResponseHeader)
	alarm := &etcdserverpb.AlarmMember{MemberID: 1, Alarm: etcdserverpb.AlarmType_NOSPACE}
	for _, test := range []struct {
		name, without string
		alarms        []string // that the member alone knows
		command       string
		code          int
		want          string
	}{
		{"all", "", nil, "status", 0, "nothing is wrong"},
		{"alarms", "Alarm", nil, "status", 1, "wrong: whether there are other alarms is not known: "},
		{"alarms that the member knows", "Alarm", []string{alarm.String()}, "status", 1, "wrong: alarm NOSPACE: "},
		{"entries", "Range", nil, "status", 1, "wrong: how many entries there are is not known: "},
		{"authentication", "AuthStatus", nil, "status", 1, "wrong: whether etcd's own authentication is switched on is not known: "},
		{"all, to compact", "", nil, "compact", 0, "first: "},
		{"alarms, to compact", "Alarm", nil, "compact", 1, "an alarm NOSPACE goes on if there is one"},
	} {
		t.Run(test.name, func(t *testing.T) {
			list := &etcdserverpb.MemberListResponse{Header: header, Members: []*etcdserverpb.Member{{ID: 1, Name: "first"}}}
			answers := map[string]any{
				"MemberList": list,
				"Status":     &etcdserverpb.StatusResponse{Header: header, Leader: 1, Errors: test.alarms},
				"Range":      &etcdserverpb.RangeResponse{Header: header},
				"Alarm":      &etcdserverpb.AlarmResponse{Header: header},
				"AuthStatus": &etcdserverpb.AuthStatusResponse{Header: header},
				"Compact":    &etcdserverpb.CompactionResponse{Header: header},
				"Defragment": &etcdserverpb.DefragmentResponse{Header: header},
			}
			delete(answers, test.without)
			at := serveAnswers(t, answers)
			list.Members[0].ClientURLs = []string{"http://" + at}
			if code, out, err := do(t, test.command, "--at", at); code != test.code || !strings.Contains(out+err, test.want) {
				t.Errorf("got %d, %s%s, want %d and %q", code, out, err, test.code, test.want)
			}
		})
	}
}
