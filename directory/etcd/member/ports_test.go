// SPDX-License-Identifier: Apache-2.0

package member_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tagbus/directory/etcd/member"
	"tagbus/internal/testkit/pki"
)

// browser returns a client of HTTP whose connections a function makes.
func browser(t *testing.T, transport *http.Transport) *http.Client {
	t.Helper()
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// fetch returns the answer to a request.
func fetch(t *testing.T, with *http.Client, method, url, host string) (status int, header http.Header, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(soon(t), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		r.Host = host
	}
	r.Header.Set("Origin", "http://evil.example")
	answer, err := with.Do(r)
	if err != nil {
		t.Fatalf("%s %s: got %v, want an answer", method, url, err)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	_ = answer.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(text)
}

// At the port for clients HTTP has metrics and health, and no service of etcd.
func TestHTTPOfTheClientPort(t *testing.T) {
	t.Parallel()
	m := start(t, member.Config{Data: t.TempDir(), Listen: freeAddress(t), Name: "a"})
	client := browser(t, new(http.Transport))
	tests := []struct {
		method, path, host string
		want               int
	}{
		{"GET", "/metrics", "", 200},
		{"GET", "/health", "", 200},
		{"GET", "/version", "localhost:2379", 200},
		{"GET", "/metrics", "rebound.evil.example", 421},
		{"GET", "/health", "rebound.evil.example:2379", 421},
		{"POST", "/metrics", "", 405},
		{"OPTIONS", "/metrics", "", 405},
		{"FOO", "/debug/vars", "", 405},
		{"GET", "/debug/vars", "", 404},
		{"GET", "/debug/pprof/", "", 404},
		{"POST", "/v3/kv/range", "", 405},
		{"GET", "/v3/kv/range", "", 404},
		{"GET", "/members", "", 404},
		{"GET", "/", "", 404},
	}
	for _, test := range tests {
		status, header, _ := fetch(t, client, test.method, "http://"+m.Clients()+test.path, test.host)
		if status != test.want || header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %s of %q: got %d and %q, want %d and no other site", test.method, test.path, test.host, status, header, test.want)
		}
	}
}

// Only members reach the port for members.
func TestThePortForMembers(t *testing.T) {
	t.Parallel()
	var said logs
	g := startGuarded(t, func(c *member.Config) { c.Logger = said.logger() })
	at := "https://" + g.Peers()
	for _, test := range []struct {
		name, path string
		want       int
	}{
		{"cn:none", "/members", 403},
		{"cn:none", "/raft", 403},
		{"cn:none", "/raft/stream/message/1", 403},
		{"cn:none", "/members/promote/1", 403},
		{honest, "/leases", 403},
		{honest, "/version", 403},
		{"cn:operator 7", "/members", 200},
		{"dns:directory-7", "/members", 200},
		{"dns:directory-1", "/members", 200},
		{"uri:dns:directory-7", "/members", 403},
	} {
		status, _, body := fetch(t, browser(t, &http.Transport{TLSClientConfig: g.config(t, test.name)}), "GET", at+test.path, "")
		if status != test.want || status == 403 && !strings.Contains(body, "--member") {
			t.Errorf("%s as %s: got %d %s, want %d", test.path, test.name, status, body, test.want)
		}
	}
	if !strings.Contains(said.String(), "--member") || !strings.Contains(said.String(), "cn:none") {
		t.Errorf("got %s, want it to say which caller was refused", said.String())
	}
	without := g.config(t, "cn:x")
	without.Certificates = nil
	for _, port := range []string{at, "https://" + g.Clients()} {
		r, err := http.NewRequestWithContext(soon(t), http.MethodGet, port+"/version", nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := browser(t, &http.Transport{TLSClientConfig: without}).Do(r); err == nil {
			_ = answer.Body.Close()
			t.Errorf("%s without a certificate: got %d, want no answer", port, answer.StatusCode)
		}
	}
}

// Without certificates another user of the host is no member, whatever it says.
func TestThePortForMembersAndAnotherUser(t *testing.T) {
	t.Parallel()
	m := start(t, member.Config{Data: t.TempDir(), Listen: freeAddress(t), Name: "a", Members: []string{"10.1.2.0/24"}})
	dial := asUser(t, stranger)
	other := browser(t, &http.Transport{DialContext: func(ctx context.Context, _, at string) (net.Conn, error) { return dial(ctx, at) }})
	if status, _, _ := fetch(t, other, "GET", "http://"+m.Peers()+"/members", ""); status != 403 {
		t.Errorf("another user: got %d, want 403", status)
	}
	if status, _, body := fetch(t, browser(t, new(http.Transport)), "GET", "http://"+m.Peers()+"/members", ""); status != 200 {
		t.Errorf("the user of the member: got %d %s, want 200", status, body)
	}
}

// A member with another certificate joins if it is named, and says what is missing if not.
func TestOnlyNamedMembersJoin(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	config := func(name string) member.Config {
		return member.Config{Data: t.TempDir(), Listen: freeAddress(t), Name: "b", TLS: g.files(t, name, here), Join: []string{g.Clients()}, Members: []string{"dns:directory-*"}}
	}
	refusedBefore(soon(t), t, config("dns:felix-07"), member.ErrNotAllowed, "dns:felix-07", "--member")
	start(t, config("dns:directory-2"))
}

// The sockets are for the user of the member alone, also if its folder is open and its path long.
func TestTheSocketOfAMember(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), strings.Repeat("long", 40))
	if err := os.MkdirAll(filepath.Join(data, "control"), 0o755); err != nil { // as it was left
		t.Fatal(err)
	}
	start(t, member.Config{Data: data, Listen: freeAddress(t), Name: "a"})
	info, err := os.Stat(filepath.Join(data, "control"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("got %v, %v, want a folder of mode 700", info.Mode(), err)
	}
	client, err := member.DialFolder(data)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if got, err := client.AlarmList(soon(t)); err != nil {
		t.Errorf("got %v, %v, want the owner to administer", got, err)
	}
	if _, err := member.DialFolder(t.TempDir()); err == nil {
		t.Error("a folder without a member: got nil, want an error")
	}
}

// A certificate that is revoked ends the connections that were made with it.
func TestARevokedCertificate(t *testing.T) {
	t.Parallel()
	ca := pki.NewCA(t, "cn:ca")
	list := pki.Write(t, t.TempDir(), "list.pem", ca.Revoke(t, time.Now().Add(time.Hour)))
	g := &guarded{ca: ca}
	g.Member = start(t, member.Config{
		Data: t.TempDir(), Listen: freeAddress(t), Name: "a", TLS: g.files(t, "dns:directory-1", here), Revoked: []string{list},
		Logger: slog.New(slog.DiscardHandler),
	})
	issued := ca.Issue(t, honest)
	config := g.config(t, honest)
	config.Certificates[0].Certificate, config.Certificates[0].PrivateKey = [][]byte{issued.Raw}, issued.Key
	conn := dialledTLS(t, g.Clients(), config)
	pki.Write(t, filepath.Dir(list), "list.pem", ca.Revoke(t, time.Now().Add(time.Hour), issued))
	if err := g.Reload(); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("got bytes, want the end of the connection")
	}
}
