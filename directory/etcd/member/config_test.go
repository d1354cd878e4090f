// SPDX-License-Identifier: Apache-2.0

package member_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"

	"tagbus/directory/etcd/member"
)

func TestSettingsThatMakeNoSense(t *testing.T) {
	tests := []struct {
		name   string
		config member.Config
		want   string
	}{
		{"no folder", member.Config{}, "Data: invalid configuration: give the path of a folder"},
		{"a name with a comma", member.Config{Data: "x", Name: "a,b"}, "Name a,b: invalid configuration: want at most 255 bytes, without = and comma"},
		{"a long name", member.Config{Data: "x", Name: strings.Repeat("a", 256)}, "Name "},
		{"a small quota", member.Config{Data: "x", Quota: 1}, "Quota 1: invalid configuration: want 16777216 to 8589934592 bytes"},
		{"a short history", member.Config{Data: "x", Compaction: time.Millisecond}, "Compaction 1ms: invalid configuration: want at least 1s"},
		{"a member without host", member.Config{Data: "x", Join: []string{":2379"}}, "Join :2379: invalid configuration: want HOST or HOST:PORT"},
		{"a member with a path", member.Config{Data: "x", Join: []string{"etcd://pc/x"}}, "Join etcd://pc/x: invalid"},
		{"a port that leaves none for members", member.Config{Listen: "127.0.0.1:65535"}, "Listen 127.0.0.1:65535: invalid configuration: want a port from 1 to 65534"},
		{"all addresses, and none for others", member.Config{Listen: "0.0.0.0"}, "Advertise 0.0.0.0: invalid configuration: others cannot reach"},
		{"a port to advertise", member.Config{Advertise: "pc-07:2379"}, "Advertise pc-07:2379: invalid configuration: want the name or the address of this host, without a port"},
		{"half of TLS", member.Config{Data: "x", TLS: member.TLS{Cert: "x", CA: "x"}}, "TLS.Key: invalid configuration: give all three files of TLS, or none"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.config.Data == "" && test.name != "no folder" {
				test.config.Data = t.TempDir()
			}
			refused(t, test.config, member.ErrInvalidConfig, test.want)
		})
	}
}

func TestClientAddress(t *testing.T) {
	tests := []struct{ address, want string }{
		{"pc-07", "pc-07:2379"},
		{"pc-07:1234", "pc-07:1234"},
		{"127.0.0.1", "127.0.0.1:2379"},
		{"::1", "[::1]:2379"},
		{"[::1]", "[::1]:2379"},
		{"[::1]:7", "[::1]:7"},
	}
	for _, test := range tests {
		if got, err := member.ClientAddress(test.address); got != test.want || err != nil {
			t.Errorf("ClientAddress(%q): got %q, %v, want %q, nil", test.address, got, err, test.want)
		}
	}
	for _, address := range []string{"", "a:b:c", "pc:0", "pc:x", "a b", "u@pc", "a,b"} {
		if got, err := member.ClientAddress(address); err == nil {
			t.Errorf("ClientAddress(%q): got %q, nil, want an error", address, got)
		}
	}
}

func TestAPortThatIsTaken(t *testing.T) {
	at := freeAddress(t)
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	refused(t, member.Config{Data: t.TempDir(), Listen: at}, member.ErrAddress, "Listen", at, "address already in use", "another program listens there")
}

func TestAnAddressThatThisHostDoesNotHave(t *testing.T) {
	refused(t, member.Config{Data: t.TempDir(), Listen: "192.0.2.1"}, member.ErrAddress, "192.0.2.1", "this host has no such address")
}

func TestFoldersThatCannotBeUsed(t *testing.T) {
	tests := []struct {
		name  string
		make  func(t *testing.T, path string)
		is    error
		words string
	}{
		{"a file is in its way", func(t *testing.T, path string) { write(t, path, "x") }, member.ErrFolder, "a file is in its way"},
		{"it has files of others", func(t *testing.T, path string) { write(t, filepath.Join(path, "thesis.tex"), "x") }, member.ErrForeign, "thesis.tex is in it"},
		{"an etcd ran there", func(t *testing.T, path string) {
			write(t, filepath.Join(path, "member", "wal", "0000000000000000-0000000000000000.wal"), "x")
		}, member.ErrForeign, "an etcd server ran there"},
		{"its settings are damaged", func(t *testing.T, path string) { write(t, filepath.Join(path, "tagbus-directory.json"), "{") }, member.ErrDamaged, "clear the folder, and join again"},
		{"its settings are of a later version", func(t *testing.T, path string) {
			write(t, filepath.Join(path, "tagbus-directory.json"), `{"format": 2}`)
		}, member.ErrForeign, "format 2, want 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "data")
			test.make(t, path)
			refused(t, member.Config{Data: path, Listen: freeAddress(t)}, test.is, "Data", path, test.words)
		})
	}
}

// write writes a file, with the folders above it.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAlarmHint(t *testing.T) {
	for alarm, want := range map[etcdserverpb.AlarmType]string{
		etcdserverpb.AlarmType_NOSPACE: "tagbus-directory compact",
		etcdserverpb.AlarmType_CORRUPT: "remove the one that differs",
		etcdserverpb.AlarmType_NONE:    "documentation of etcd",
	} {
		if got := member.AlarmHint(alarm); !strings.Contains(got, want) {
			t.Errorf("AlarmHint(%v): got %q, want %q in it", alarm, got, want)
		}
	}
}
