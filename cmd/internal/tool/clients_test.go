// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tool

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/bus/directory/memory"
	"tagbus/bus/state"
)

// TestEveryoneHasTheClientsToo, and what is no client there is passed over.
func TestEveryoneHasTheClientsToo(t *testing.T) {
	m := memory.New()
	_, err := m.Announce(directorytest.Entry("z", 1))
	for _, e := range []directory.Entry{directorytest.Client("c", 1), directorytest.Entry("strange", 1)} {
		_, failed := m.Clients().Announce(e)
		err = errors.Join(err, failed)
	}
	if err != nil {
		t.Fatal(err)
	}
	d := &everyone{Directory: m, clients: directory.ClientsOf(&bounded{Directory: m, patience: 1e9})}
	m.Clients().(*memory.Directory).Report("x", errors.New("damaged"))
	entries, err := d.List()
	if len(entries) != 2 || entries[0].Instance != "z" || entries[1].Instance != "c" || err == nil {
		t.Errorf("got %v, %v, want the publisher, the client and the problem", entries, err)
	}
	if d := (&everyone{Directory: &bounded{Directory: d, patience: 1e9}}); directory.ClientsOf(d.Directory) != nil {
		t.Error("got clients of a directory without")
	}
}

// TestAClientIsAskedByHTTP, whatever serves there.
func TestAClientIsAskedByHTTP(t *testing.T) {
	answer := func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r) }))
	defer server.Close()
	e := directorytest.Client("c", 1)
	ask := func() (state.State, error) {
		return askers{failing{errors.New("over the bus")}}.Ask(t.Context(), e, state.Question{Peers: 7})
	}
	if _, err := ask(); !errors.Is(err, ErrNoMonitor) {
		t.Errorf("got %v, want ErrNoMonitor", err)
	}
	e.Monitor = netip.MustParseAddrPort(strings.TrimPrefix(server.URL, "http://"))
	refused := func(what, word string) {
		t.Helper()
		if _, err := ask(); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: got %v, want %q", what, err, word)
		}
	}
	refused("a status", "403 Forbidden")
	answer = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
	}
	refused("a redirect", "302 Found")
	answer = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{")) }
	refused("no JSON", "cannot be read")
	answer = func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"command":"`))
		for range maxAnswer/1024 + 1 {
			_, _ = w.Write([]byte(strings.Repeat("a", 1024)))
		}
	}
	refused("a flood", "more than")
	instance := "other"
	answer = func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RequestURI() != "/api/v1/state?peers=7" {
			http.Error(w, "unexpected", http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(state.Process{Instances: []state.State{{Role: state.Subscriber, Instance: instance, Messages: 42}}})
	}
	refused("another program", "another program")
	instance = "c"
	if s, err := ask(); err != nil || s.Messages != 42 {
		t.Errorf("got %+v, %v, want its state", s, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (askers{}).Ask(ctx, e, state.Question{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the end of the context counts", err)
	}
	server.Close()
	refused("nothing", "refused")
}

// TestClientsAreAskedTogether, and of those that do not answer the entry is known.
func TestClientsAreAskedTogether(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(state.Process{Instances: []state.State{{Instance: "a", Messages: 1}, {Instance: "b", Messages: 2}}})
	}))
	defer server.Close()
	var clients []directory.Entry
	for _, instance := range []string{"a", "gone", "b"} {
		e := directorytest.Client(instance, 1)
		e.Monitor = netip.MustParseAddrPort(strings.TrimPrefix(server.URL, "http://"))
		clients = append(clients, e)
	}
	silent := directorytest.Client("silent", 1)
	silent.Backend = "shm,tcp"
	clients = append(clients, silent)
	env := &Env{Flags: &Flags{Timeout: time.Minute}}
	all := env.ClientStates(t.Context(), clients)
	if len(all) != 4 || all["a"].Messages != 1 || all["b"].Messages != 2 || all["gone"].Backend != clients[1].Backend || all["silent"].Backend != "shm,tcp" {
		t.Errorf("got %v, want the answers of a and b, and the transports of the others", all)
	}
}
